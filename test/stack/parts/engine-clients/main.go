// Reads the results of the statements on its input, one a line, and prints a line of JSON for each.
package main

import (
	"bufio"
	"database/sql"
	"fmt"
	"os"
	"time"

	_ "github.com/trinodb/trino-go-client/trino"
)

func main() {
	db, err := sql.Open("trino", "http://ana@"+os.Args[1])
	check(err)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		start := time.Now()
		rows, err := db.Query(lines.Text())
		check(err)
		columns, err := rows.Columns()
		check(err)
		values := make([]any, len(columns))
		targets := make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		count, first := 0, 0.0
		for rows.Next() {
			check(rows.Scan(targets...))
			if count == 0 {
				first = milliseconds(start)
			}
			count++
		}
		check(rows.Err())
		check(rows.Close())
		fmt.Printf("{\"rows\":%d,\"first\":%f,\"all\":%f}\n", count, first, milliseconds(start))
	}
}

func milliseconds(since time.Time) float64 {
	return float64(time.Since(since).Microseconds()) / 1000
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
