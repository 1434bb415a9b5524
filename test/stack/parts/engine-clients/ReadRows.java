import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.DriverManager;
import java.util.Properties;

/** Reads the results of the statements on its input, one a line, and prints a line of JSON for each. */
public class ReadRows {
    public static void main(String[] arguments) throws Exception {
        var options = new Properties();
        options.setProperty("user", "ana");
        var lines = new BufferedReader(new InputStreamReader(System.in));
        try (var connection = DriverManager.getConnection("jdbc:trino://" + arguments[0], options)) {
            for (var line = lines.readLine(); line != null; line = lines.readLine()) {
                var start = System.nanoTime();
                var rows = 0;
                var first = 0.0;
                try (var statement = connection.createStatement(); var result = statement.executeQuery(line)) {
                    var columns = result.getMetaData().getColumnCount();
                    while (result.next()) {
                        for (var column = 1; column <= columns; column++) result.getObject(column);
                        if (rows == 0) first = milliseconds(start);
                        rows++;
                    }
                }
                System.out.printf(java.util.Locale.ROOT, "{\"rows\":%d,\"first\":%f,\"all\":%f}%n", rows, first, milliseconds(start));
            }
        }
    }

    private static double milliseconds(long since) {
        return (System.nanoTime() - since) / 1e6;
    }
}
