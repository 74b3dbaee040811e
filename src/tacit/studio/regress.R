# Logit of an outcome on other questions, disguised or not, as tacit computes it: the maximum of the
# likelihood of the reports, P(report | x) = sum over true answers of M[report, answer] P(answer | x).
#
# `groups` has the groups of answers of each question, the outcome first; `references` the group that
# others are compared with; `channels` the questions that are disguised together, the columns of
# their reports and the matrix M. Disguised predictors are summed out: their joint distribution is a
# multinomial logit in the predictors that are not disguised.

disguised_logit <- function(records, groups, references, interaction, channels, ordered) {
  outcome <- names(groups)[1]
  predictors <- names(references)
  hidden <- unlist(lapply(channels, `[[`, "questions"))
  known <- setdiff(predictors, hidden)
  size <- lengths(groups)
  code_of <- function(name) {
    parts <- groups[[name]]
    rep(seq_along(parts), lengths(parts))[match(as.character(records[[name]]), unlist(parts))]
  }
  joint_code <- function(codes, sizes) {
    code <- 1
    for (i in seq_along(codes)) code <- (code - 1) * sizes[i] + codes[[i]]
    code
  }
  if (!outcome %in% hidden) {
    records[[outcome]] <- factor(code_of(outcome), seq_len(size[outcome]))
    direct <- list(questions = outcome, columns = outcome, M = diag(size[outcome]))
    channels <- c(channels, list(direct))
  }
  reports <- lapply(channels, function(channel) {
    columns <- records[channel$columns]
    joint_code(lapply(columns, as.integer), sapply(columns, nlevels))
  })

  # Equal records come once, n times.
  rows <- do.call(cbind, c(lapply(known, code_of), reports))
  rows <- rows[complete.cases(rows), , drop = FALSE]
  key <- apply(rows, 1, paste, collapse = " ")
  n <- as.numeric(table(key)[unique(key)])
  rows <- rows[!duplicated(key), , drop = FALSE]

  # One cell per combination of answers to the disguised predictors: the model matrix, and the
  # chance of the report for each answer to the outcome.
  summed <- intersect(predictors, hidden)
  cells <- as.matrix(expand.grid(lapply(size[summed], seq_len)))
  if (!length(summed)) cells <- matrix(0, 1, 0)
  C <- nrow(cells)
  k <- size[outcome]
  model_matrix <- function(cell) {
    dummies <- lapply(predictors, function(name) {
      hidden_code <- rep(cells[cell, match(name, summed)], nrow(rows))
      code <- if (name %in% known) rows[, match(name, known)] else hidden_code
      labels <- setdiff(names(groups[[name]]), references[[name]])
      columns <- sapply(labels, function(label) 1 * (names(groups[[name]])[code] == label))
      matrix(columns, nrow(rows), dimnames = list(NULL, paste0(name, "[T.", labels, "]")))
    })
    names(dummies) <- predictors
    x <- do.call(cbind, dummies)
    if (length(interaction)) {
      a <- dummies[[interaction[1]]]
      b <- dummies[[interaction[2]]]
      for (i in colnames(a)) for (j in colnames(b)) {
        x <- cbind(x, a[, i] * b[, j])
        colnames(x)[ncol(x)] <- paste0(i, ":", j)
      }
    }
    if (ordered) x else cbind(Intercept = 1, x)
  }
  chance <- function(cell) sapply(seq_len(k), function(answer) {
    chances <- lapply(seq_along(channels), function(i) {
      questions <- channels[[i]]$questions
      true <- lapply(questions, function(name)
        if (name == outcome) answer else cells[cell, match(name, summed)])
      channels[[i]]$M[rows[, length(known) + i], joint_code(true, size[questions])]
    })
    Reduce(`*`, chances)
  })
  X <- lapply(seq_len(C), model_matrix)
  Q <- lapply(seq_len(C), function(cell) matrix(chance(cell), nrow(rows)))
  alike <- Reduce(`&`, lapply(X, function(x) colSums(x != X[[1]]) == 0))
  z <- cbind(1, X[[1]][, alike & colnames(X[[1]]) != "Intercept", drop = FALSE])
  p <- ncol(X[[1]])
  n_effects <- if (ordered) k - 1 + p else (k - 1) * p
  effects <- seq_len(n_effects)

  shares <- function(u) {
    top <- pmax(0, apply(u, 1, max))
    odds <- cbind(exp(-top), exp(u - top))
    odds / rowSums(odds)
  }
  predictor <- function(theta, x) {
    if (!ordered) return(x %*% matrix(theta[effects], p))
    outer(drop(-x %*% theta[k - 1 + seq_len(p)]), theta[seq_len(k - 1)], "+")
  }
  parts <- function(theta) {
    pi <- if (C == 1) matrix(1, nrow(rows), 1) else shares(z %*% matrix(theta[-effects], ncol(z)))
    U <- lapply(X, function(x) predictor(theta, x))
    P <- lapply(U, function(u) if (ordered) t(apply(cbind(0, plogis(u), 1), 1, diff)) else shares(u))
    joint <- lapply(seq_len(C), function(cell) pi[, cell] * Q[[cell]] * P[[cell]])
    list(pi = pi, U = U, P = P, joint = joint, total = Reduce(`+`, lapply(joint, rowSums)))
  }
  value <- function(theta) {
    total <- parts(theta)$total
    if (all(is.finite(total)) && all(total > 0)) sum(n * log(total)) else -1e10
  }
  slopes <- function(theta) {
    at <- parts(theta)
    gradient <- 0
    for (cell in seq_len(C)) {
      if (ordered) {
        drops <- Q[[cell]][, -k, drop = FALSE] - Q[[cell]][, -1, drop = FALSE]
        w <- n * at$pi[, cell] * drops * dlogis(at$U[[cell]]) / at$total
        gradient <- gradient + c(colSums(w), -crossprod(X[[cell]], rowSums(w)))
      } else {
        w <- n * (at$joint[[cell]] - rowSums(at$joint[[cell]]) * at$P[[cell]]) / at$total
        gradient <- gradient + c(crossprod(X[[cell]], w[, -1, drop = FALSE]))
      }
    }
    if (C == 1) return(gradient)
    w <- n * (sapply(at$joint, rowSums) / at$total - at$pi)
    c(gradient, crossprod(z, w[, -1, drop = FALSE]))
  }

  # A search without second derivatives, then Newton's method.
  theta <- rep(0, n_effects + if (C > 1) (C - 1) * ncol(z) else 0)
  if (ordered) theta[seq_len(k - 1)] <- qlogis(seq_len(k - 1) / k)
  search <- list(fnscale = -1, maxit = 1000, reltol = 1e-12)
  theta <- optim(theta, value, slopes, method = "BFGS", control = search)$par
  near <- list(fnscale = -1, ndeps = rep(1e-4, length(theta)))
  for (step in 1:4) {
    information <- -optimHess(theta, value, slopes, control = near)
    theta <- theta + solve(information, slopes(theta))
  }
  stderr <- sqrt(diag(solve(information)))[effects]
  theta <- theta[effects]
  labels <- names(groups[[outcome]])
  term <- c(rep("", if (ordered) k - 1 else 0), rep(colnames(X[[1]]), if (ordered) 1 else k - 1))
  answer <- if (ordered) rep(labels[k], n_effects) else rep(labels[-1], each = p)
  half <- qnorm(0.975) * stderr
  fit <- data.frame(answer, term, odds_ratio = exp(theta), lower = exp(theta - half),
                    upper = exp(theta + half), log_odds = theta, stderr = stderr)
  fit[!term %in% c("", "Intercept"), ]
}
