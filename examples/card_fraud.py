"""Stolen cards among 200,000 payments: small trials, then a large payment. The thefts are planted, so we know them.

Run it: python examples/card_fraud.py
"""

import numpy as np
import pyarrow as pa

import whenabouts as wa

FRAUD = """
    PATTERN SEQ(Payment first, Payment{2,} more[], Payment big)
    WHERE   [card] AND first.amount < 5 AND more[i].amount < 5 AND big.amount > 500
            AND more[i].city = first.city AND big.city != first.city
    WITHIN  1 hour
    RETURN  first.city AS tried_in, big.city AS spent_in, big.amount AS stolen
"""
CITIES = np.array(["Porto", "Turin", "Lille", "Graz"])
PAYMENTS, CARDS, THEFTS = 200_000, 5_000, 25


def payments(seed: int = 1) -> tuple[pa.Table, set[str]]:
    """A month of payments of 5 to 400, and the cards among whose payments a theft was planted."""
    random = np.random.default_rng(seed)
    second = random.integers(0, 30 * 86_400, PAYMENTS)
    card = random.integers(0, CARDS, PAYMENTS)
    city = random.integers(0, len(CITIES), PAYMENTS)
    amount = np.round(random.uniform(5, 400, PAYMENTS), 2)
    stolen = random.choice(CARDS, THEFTS, replace=False)
    begin = random.integers(0, 29 * 86_400, THEFTS)
    for minutes, price, place in ((0, 1.0, 0), (4, 2.5, 0), (9, 1.2, 0), (20, 899.0, 1)):
        second = np.append(second, begin + 60 * minutes)
        card, city = np.append(card, stolen), np.append(city, np.full(THEFTS, place))
        amount = np.append(amount, np.full(THEFTS, price))
    table = pa.table(
        {
            "id": np.arange(len(card)),
            "type": np.full(len(card), "Payment"),
            "time": pa.array(second, pa.timestamp("s")),
            "card": [f"C{number:04d}" for number in card],
            "city": CITIES[city],
            "amount": amount,
        }
    )
    return table.sort_by("time"), {f"C{number:04d}" for number in stolen}


def main() -> None:
    table, truth = payments()
    found = wa.query(FRAUD, name="card fraud").match(table)
    print(f"{table.num_rows:,} payments, {found.num_rows} thefts found, {len(truth)} planted")
    for row in found.slice(0, 3).to_pylist():
        print(row["card"], row["start"], dict(row["events"]), row["tried_in"], row["spent_in"], row["stolen"])
    assert set(found["card"].to_pylist()) == truth


if __name__ == "__main__":
    main()
