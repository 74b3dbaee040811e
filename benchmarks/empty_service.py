"""A uvicorn endpoint that reads the body and answers 201: the cost of any service."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """An ASGI application."""
    more = True
    while more:
        more = (await receive()).get("more_body", False)
    headers = [(b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 201, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def main() -> None:
    """Serve on a free port and print its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        print(f"serving http://127.0.0.1:{listener.getsockname()[1]}/", flush=True)
        config = uvicorn.Config(
            answer,
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=True,
            proxy_headers=False,
        )
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
