"""How large a query may be; docs/language.md lists the same numbers, and a test compares the two.

Every walker below the parser is recursive, so depth is bounded first, and without recursion.
"""

from __future__ import annotations

MAX_TEXT = 100_000  # characters of query text
MAX_TOKENS = 25_000  # words, numbers and signs
MAX_BRACKETS = 250  # open brackets at one place; canonical text of a query within the other limits stays below
MAX_PATTERN_DEPTH = 50  # SEQ in SEQ in …
MAX_EXPRESSION_DEPTH = 100  # operators above one another; a chain of n additions counts n
MAX_EXPRESSION_NODES = 5_000  # in all conditions and RETURN items together, items of IN lists apart
MAX_STEPS = 60  # in all patterns of a UNION together
MAX_ALL_OF = 8  # parts of one AND( … )
MAX_REPEAT = 1_000  # numbers in quantifiers
MAX_UNROLLED = 10_000  # steps after writing nested quantifiers out
MAX_IN_ITEMS = 10_000  # items of one IN list
MAX_DIGITS = 400  # characters of one number
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
