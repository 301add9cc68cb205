"""One session's own process: it dials home, decides, asks models, runs tools, dies alone."""
