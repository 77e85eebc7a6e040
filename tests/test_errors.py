from ragctx.errors import RagctxError, missing_extra


def test_error_reads_where_what_and_remedy_on_one_line() -> None:
    error = RagctxError("unknown key 'tag'", where="rules/x.md:4", remedy="use 'tags'")
    assert str(error) == "rules/x.md:4: unknown key 'tag'; use 'tags'"


def test_control_characters_and_line_breaks_are_folded() -> None:
    assert str(RagctxError("a\nb\x1b[31mc\td")) == "a b [31mc d"


def test_missing_extra_names_the_install_command() -> None:
    assert str(missing_extra("tpu", "compiling")) == (
        "compiling needs the 'tpu' extra; run: pip install \"ragctx[tpu]\""
    )
