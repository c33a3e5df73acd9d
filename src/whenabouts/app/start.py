"""The entry point of the command `whenabouts`: small, so that Ctrl-C is understood while the rest is imported."""

import sys

from whenabouts.app.exit_codes import INTERRUPTED


def main() -> None:
    try:
        from whenabouts.app.cli import main as answer
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201
        sys.exit(INTERRUPTED)
    answer()


if __name__ == "__main__":
    main()
