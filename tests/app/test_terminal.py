"""What takes long explains itself."""

import time

from whenabouts.app.terminal import WHY_SO_LONG, Words


def test_words_say_why_it_takes_long_and_only_then():
    shown = []
    words = Words(shown.append, patience=0.2)
    words.say("reading")
    words.say("matching")
    assert shown == ["reading", "matching"]
    deadline = time.monotonic() + 10
    while len(shown) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert shown == ["reading", "matching", f"matching\n{WHY_SO_LONG}"]
    words.say("writing")
    words.stop()
    time.sleep(0.4)
    assert shown[3:] == ["writing"]
