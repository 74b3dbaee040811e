# Shares of the true answers with 95 % intervals, as tacit computes them.
#
# M[report, true answer] are the probabilities of the disguise. A report r counts as W[a, r] for the
# answer a, where W is the inverse of M; the estimate is the mean. The interval contains every share
# that the estimate does not reject: by the exact binomial distribution where the weights have two
# values (Clopper & Pearson, 1934), otherwise by a binomial distribution with the same three moments,
# or by the normal one if records are many (Wilson, 1927).

variance <- function(s, p) p * (1 - p) + pmax(s$noise[1] + p * (s$noise[2] + p * s$noise[3]), 0)

two_point <- function(s, p) {
  p <- min(max(p, 1e-9), 1 - 1e-9)
  spread <- sqrt(variance(s, p))
  third <- p * (1 - p) * (1 - 2 * p) + s$skew[1] + p * (s$skew[2] + p * s$skew[3])
  skewness <- third / spread^3
  root <- sqrt(4 + skewness^2)
  rare <- 2 / (root * (root + abs(skewness)))
  share <- if (skewness >= 0) rare else 1 - rare
  list(low = p - share * spread * root, span = spread * root, share = share)
}

is_binomial <- function(s) {
  a <- two_point(s, 0.3)
  b <- two_point(s, 0.7)
  abs(a$low - b$low) <= 1e-7 * (b$span + abs(b$low)) && abs(a$span - b$span) <= 1e-7 * (1 + b$span)
}

# The share at which an estimate of `center` or more has the probability `tail`.
limit <- function(s, center, tail) {
  z2 <- qnorm(tail)^2
  a <- s$n + z2 * (1 - s$noise[3])
  b <- s$n * center + z2 * (1 + s$noise[2]) / 2
  c <- s$n * center^2 - z2 * s$noise[1]
  normal <- (b - sqrt(max(b^2 - a * c, 0))) / a
  if (is_binomial(s)) {
    point <- two_point(s, 0.5)
    heavy <- min(max(s$n * (center - point$low) / point$span, 0), s$n)
    share <- if (heavy > 0) qbeta(tail, heavy, s$n - heavy + 1) else 0
    return(point$low + point$span * share)
  }
  point <- two_point(s, normal)
  if (s$n * point$share * (1 - point$share) >= 400) return(normal)
  excess <- function(p) {
    point <- two_point(s, p)
    sum_of <- s$n * (center - point$low) / point$span
    heavy <- min(max(sum_of, 0), s$n)
    chance <- if (heavy > 0) pbeta(point$share, heavy, s$n - heavy + 1) else 1
    deviate <- qnorm(min(max(chance, 1e-300), 1 - 1e-16))
    if (sum_of > s$n) deviate <- min(deviate, (p - center) / sqrt(variance(s, p) / s$n))
    deviate - qnorm(tail)
  }
  searched <- 0
  if (center > 0 && excess(0) < 0) searched <- uniroot(excess, c(0, center), tol = 1e-13)$root
  if (searched > 0 || normal > 0) searched else normal
}

mirrored <- function(s) {
  turned <- function(x) c(sum(x), -x[2] - 2 * x[3], x[3])
  list(noise = turned(s$noise), skew = -turned(s$skew), n = s$n)
}

lower <- function(center, half, whole, lower_end, upper_end) {
  if (center <= 0) return(0)
  limit <- if (half <= lower_end && whole <= lower_end) whole else max(half, lower_end)
  min(limit, upper_end)
}

interval <- function(s, value, error = 0.05) {
  center <- min(max(value, 0), 1)
  other <- mirrored(s)
  cut <- function(x) min(max(x, 0), 1)
  from_one <- cut(limit(s, 1, error / 2))
  from_zero <- cut(limit(other, 1, error / 2))
  low <- lower(center, cut(limit(s, center, error / 2)), cut(limit(s, center, error)),
               1 - from_zero, from_one)
  high <- 1 - lower(1 - center, cut(limit(other, 1 - center, error / 2)),
                    cut(limit(other, 1 - center, error)), 1 - from_one, from_zero)
  c(min(low, center), max(high, center))
}

# The estimates of one question: `reports` is a factor, `M` its matrix.
estimate <- function(reports, M, question) {
  counts <- as.numeric(table(reports))
  n <- sum(counts)
  W <- solve(M)
  rows <- lapply(seq_len(nrow(W)), function(a) {
    w <- W[a, ]
    value <- sum(w * counts) / n
    moment <- function(k) {
      by_answer <- colSums(M * w^k)
      others <- by_answer[-a]
      mean <- sum(w^k * counts) / n
      outside <- if (abs(1 - value) > 1e-6) (mean - value * by_answer[a]) / (1 - value) else Inf
      list(inside = by_answer[a], outside = min(max(outside, min(others)), max(others)),
           most = max(others))
    }
    second <- moment(2)
    third <- moment(3)
    away <- abs(value - min(max(value, 0), 1))
    if (away > 4 * sqrt(max(second$inside, second$most) / n)) second$outside <- second$most
    s <- list(
      noise = c(second$outside, second$inside - second$outside - 1, 0),
      skew = c(third$outside, third$inside - third$outside - 3 * second$outside - 1,
               3 - 3 * (second$inside - second$outside)),
      n = n
    )
    limits <- interval(s, value)
    stderr <- sqrt(max(sum(w^2 * counts) / n - value^2, 0) / n)
    data.frame(question = question, answer = levels(reports)[a], estimate = value, stderr = stderr,
               lower = limits[1], upper = limits[2], reported = counts[a] / n)
  })
  do.call(rbind, rows)
}
