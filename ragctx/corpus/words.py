"""Words that are no terms: what stands in titles of any documentation, common English, names every snippet has."""

from __future__ import annotations

# Words that stand in titles of many pages and say nothing about what the page is for.
GENERIC = frozenset(
    """a about advanced all an and api appendix are as at background basics best by changes class common concept
    concepts contents details documentation docs example examples faq field fields first following for from function
    functions general getting guide guides handling how in index information into introduction is it its list
    method methods module modules more new note notes of on one or other our overview package page parameter
    parameters practices practice quick quickstart readme reference references section see start started style
    summary that the their these things this to tutorial two usage use used using value values we what when where
    which why with work working works you your argument arguments return returns raises see also description error
    errors default defaults type types name names meaning purpose signature
    lifecycle life cycle flow workflow model object objects basics rules handling management policy""".split()
)
# Common English words: as one word of a longer title they are no term that a page could be the home of.
COMMON = frozenset(
    """able about above across act action actual add added after again against ago ahead all allow allowed almost alone
    along already also although always among amount and another answer any anybody anyone anything apart apply are
    around as ask asked at away back bad base based be became because become before began begin begins behind being
    below beside best better between beyond big both bring brings built but by call called calls came can cannot
    care carry case cases cause certain change changed changes check checks choose clear close come comes common
    complete consider contain contains convert copy correct could count course create current cut day days deal
    decide default depend depends did differ different do does doing done down during each early easy either else
    empty end ended ends enough even ever every everybody everyone everything exact exactly example except exist
    exists expect expected explain extra fact far fast few figure fill final find finds fine first fit follow
    following follows for form former found free from full further gave general get gets give given gives giving go
    goes going gone good great group had half hand happen happens hard has have having he help her here high him his
    hold holds how however i if important in include including instead into is it its itself just keep keeps kept
    kind kinds knew know known knows large last late later least leave leaves left less let lets lie like likely
    line list little live long look looks lost lot low made main make makes making manner many mark matter may maybe
    me mean means meant might mind missing more most mostly move moved much must my near nearly necessary need
    needed needs never new next no nobody none nor normal normally not note nothing notice now number numbers of off
    often old on once one ones only onto open or order ordinary other others otherwise our out over own page pages
    pair part parts pass passed passes past people per person piece place places plain plan point points possible
    present print probably problem prove provide purpose put puts question quick quite rather reach read reads ready
    real really reason reasons receive refer remain remains remember rest result results return returned returns
    right room rule rules run running runs said same save say says second see seen send sends sense sent separate
    set sets settled several shall short should show shown shows side simple simply since single small so some
    somebody someone something sometimes soon sort spare special stand stands start started starts state states stay
    stays step steps still stop stops such sure take taken takes taking tell tells ten text than thank that the
    their them then there therefore these they thing things think third this those though three through thus till
    time times to today together told too took top toward tried tries try trying turn turned turns two under unless
    until up upon us use used useful uses using usual usually very wait want wants was way ways we well went were
    what whatever when whenever where whether which while who whole whom whose why will wish with within without
    word words work works would write writes written wrong year yes yet you your zero""".split()
)
# Names that every Python snippet mentions; a page that defines one of them is not what a reader is missing.
BUILTIN = frozenset(
    """abs any args bool bytes class cls def dict else false float for from get if import in int is kwargs len list
    main map max min none not object or print raise range return self set str sum true try tuple type while with
    yield async await lambda except finally pass and as assert break continue del elif global nonlocal
    Path Any Callable Iterable Iterator Sequence Mapping Optional Union Literal datetime date time timedelta timezone
    Decimal Enum dataclass json os sys re asyncio pathlib typing logging collections itertools functools math random
    open sorted enumerate zip sum any next iter isinstance append items keys values join split format strip
    Exception ValueError TypeError KeyError RuntimeError TimeoutError OSError NotImplementedError StopIteration
    __init__ __name__ __main__ args kwargs""".split()
)
