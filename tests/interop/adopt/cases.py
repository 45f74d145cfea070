"""Calls of the tools in tests/adopt, by their names there. Of each example: calls with answers, calls
that both servers refuse, and calls that change the data."""

from itertools import product

# Rows besides the three of `shop.sql`, so that limits cut something off.
MORE = """
INSERT INTO customers VALUES (9, 'Zoë', NULL);
INSERT INTO orders SELECT
    id, md5(id::text)::uuid, 7 + id % 4 / 2, timestamptz '2026-03-01 00:00Z' + id * interval '1 hour 1 s',
    date '2026-03-02' + id % 5, id * 1.25, id / 4.0,
    CASE WHEN id % 2 = 0 THEN 'open' ELSE 'paid' END::order_status, ARRAY['gift', 'no ' || id % 3],
    jsonb_build_object('colour', 'green', 'size', id % 7, 'parts', '[1, 2.5, null, true, {"a": "ü"}]'::jsonb)
FROM generate_series(10, 160) AS id;
"""


def given(**arguments):
    """The arguments that are not left out."""
    return {name: value for name, value in arguments.items() if value is not None}


def since():
    times = ["2026-01-31T00:00:00Z", "2026-01-31T12:00:00+01:30", "2026-03-02T10:00:10.5Z"]
    limits = [None, 1, 100]
    for time, least, numbers, shipped, limit in product(
        times, [None, 5, 19.9], [None, [1, 3, 40], []], [None, "2026-03-03"], limits
    ):
        weight = 1.5 if limit == 1 else None
        yield given(
            since=time, least=least, numbers=numbers, shipped=shipped, weight=weight, limit=limit
        )


def like():
    attributes = [{}, {"colour": "red"}, {"size": 3, "parts": [None]}, {"parts": [{"a": "ü"}]}]
    tags = [["gift"], ["blue", "red"], [], ["no 1", 'it\'s, "{x}"']]
    for attribute, tag, column in product(attributes, tags, ["id", "total"]):
        yield given(attributes=attribute, tags=tag, sort_by=column)


def references():
    for order in ["1", "2", "3", "4"]:
        yield {"reference": f"0199a5f0-000{order}-7000-8000-00000000000{order}"}


CALLS_TOOLBOX = [
    *(("orders-by-status", {"status": status}) for status in ["open", "paid", "cancelled"]),
    *(("order_by_reference", arguments) for arguments in references()),
    *(("orders_since", arguments) for arguments in since()),
    *(("orders_like", arguments) for arguments in like()),
    *(("customer_by_code", {"code": code}) for code in ["A7", "B8", "Z99"]),
    *(("order_details", {"id": number}) for number in [*range(1, 20), 40, 999_999]),
]
CALLS_DOCUMENTS = [("orders_of_customer", {"customer": number}) for number in [-1, 7, 8, 9, 2**40]]
CALLS_DBHUB = [
    ("orders_between", given(least=least, most=most))
    for least, most in product([-1, 0, 5, 10.5, 199.99, 1e3], [None, 5, 20.5, 1e2, 0.1 + 0.2])
]

WRONG_TOOLBOX = [
    ("orders-by-status", {}),
    ("orders-by-status", {"status": "lost"}),
    ("orders-by-status", {"status": 7}),
    ("order_by_reference", {"reference": "zz"}),
    ("orders_since", {"since": "yesterday evening"}),
    ("orders_since", {"since": "2026-01-31T00:00:00Z", "least": -1}),
    ("orders_since", {"since": "2026-01-31T00:00:00Z", "numbers": ["a"]}),
    ("orders_since", {"since": "2026-01-31T00:00:00Z", "limit": "many"}),
    ("orders_since", {"since": "2026-01-31T00:00:00Z", "shipped": "2026-02-30"}),
    ("orders_like", {"attributes": {}, "tags": [], "sort_by": "id; DROP TABLE orders"}),
    ("orders_like", {"attributes": {}, "tags": "gift", "sort_by": "id"}),
    ("customer_by_code", {"code": "a7"}),
    ("customer_by_code", {"code": "xA7"}),
    ("order_details", {"id": 0}),
    ("order_details", {"id": 1_000_001}),
    ("order_details", {"id": 1.5}),
]
WRONG_DOCUMENTS = [
    ("orders_of_customer", {}),
    ("orders_of_customer", {"customer": "Ada"}),
    ("orders_of_customer", {"customer": 2**63}),
]
WRONG_DBHUB = [
    ("orders_between", {}),
    ("orders_between", {"least": "a"}),
    ("orders_between", {"least": 1, "most": [2]}),
]

WRITES_TOOLBOX = [("cancel_order", {"id": number}) for number in [2, 3, 40, 999_999]]
WRITES_DBHUB = [("remove_order", {"id": number}) for number in [1, 2, 12, 999_999]]

TOOLBOX = CALLS_TOOLBOX, WRONG_TOOLBOX, WRITES_TOOLBOX
DOCUMENTS = CALLS_DOCUMENTS, WRONG_DOCUMENTS, []
DBHUB = CALLS_DBHUB, WRONG_DBHUB, WRITES_DBHUB
