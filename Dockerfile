# The survey service:
#   docker build --tag tacit .
#   docker run --publish 127.0.0.1:8000:8000 --volume tacit:/data \
#       --volume ./published.json:/data/published.json:ro tacit serve published.json
FROM python:3.13-slim AS build
WORKDIR /src
COPY requirements.lock build.lock ./
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements.lock \
    && pip install --no-cache-dir --require-hashes --only-binary :all: -r build.lock
COPY LICENSE README.md hatch_build.py pyproject.toml ./
COPY src ./src
RUN python -m hatchling build --target wheel \
    && /venv/bin/pip install --no-cache-dir --no-deps dist/*.whl

FROM python:3.13-slim
LABEL org.opencontainers.image.title="tacit" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /venv /venv
RUN useradd --system --uid 10001 --no-create-home tacit \
    && install --directory --owner tacit --mode 0700 /data
ENV PATH="/venv/bin:$PATH" \
    PYTHONUNBUFFERED=1 \
    TACIT_HOST=0.0.0.0
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
# SIGTERM stops the service when all responses that it accepted are stored.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["python", "-c", \
    "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health/ready', timeout=4)"]
ENTRYPOINT ["tacit"]
CMD ["serve"]
