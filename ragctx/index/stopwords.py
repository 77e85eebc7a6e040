"""Words that carry no topic, dropped from queries when they stand as plain prose.

They stay in the index: a small corpus gives a word like "how" a high idf, so in a query it would steer the ranking,
but in a document it costs nothing and keeps lengths honest. What is also a word of code (`not`, `with`, `for`) is
dropped only as prose; inside an identifier the whole identifier still counts.
"""

from __future__ import annotations

STOP_WORDS: frozenset[str] = frozenset(
    """
    a about above after again all also am an and any anything are as at be because been before being between both
    but by can cannot could did do does doesn doing don done down during each either else etc even every few for
    from further get gets getting go goes had has have having he help her here hers him his how i if in instead into
    is isn it its itself just let ll make makes many may me might mine more most much must my myself need needs
    neither no nor not now of off often on once one only onto or other others our ours out over per please rather
    really s same she should shouldn so some something still such t take takes than that the their theirs them then
    there these they thing things this those through to together too toward under until up upon us use used uses
    using ve very via want wants was wasn way we well were what when where whether which while who whom whose why
    will with within without won would writing you your yours
    """.split()
)
