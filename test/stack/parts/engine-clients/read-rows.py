"""Reads the results of the statements on its input, one a line, and prints a line of JSON for each."""
import json
import sys
import time

import trino

host, port = sys.argv[1].split(":")
connection = trino.dbapi.connect(host=host, port=int(port), user="ana")
for line in sys.stdin:
    start = time.perf_counter()
    cursor = connection.cursor()
    cursor.execute(line.strip())
    rows, first = 0, 0.0
    for row in cursor:
        if rows == 0:
            first = time.perf_counter() - start
        rows += 1
    everything = time.perf_counter() - start
    print(json.dumps({"rows": rows, "first": first * 1000, "all": everything * 1000}), flush=True)
