"""The worker: it claims jobs, runs them in lanes, writes their verdicts and beats."""
