import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Tracer;
import io.trino.plugin.base.security.FileBasedSystemAccessControl;
import io.trino.spi.QueryId;
import io.trino.spi.connector.CatalogSchemaName;
import io.trino.spi.connector.CatalogSchemaRoutineName;
import io.trino.spi.connector.CatalogSchemaTableName;
import io.trino.spi.connector.EntityKindAndName;
import io.trino.spi.connector.SchemaTableName;
import io.trino.spi.security.AccessDeniedException;
import io.trino.spi.security.Identity;
import io.trino.spi.security.PrincipalType;
import io.trino.spi.security.SystemAccessControl;
import io.trino.spi.security.SystemAccessControlFactory.SystemAccessControlContext;
import io.trino.spi.security.SystemSecurityContext;
import io.trino.spi.security.TrinoPrincipal;
import io.trino.spi.security.ViewExpression;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

import static io.trino.spi.type.VarcharType.VARCHAR;
import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * Asks the engine's own FileBasedSystemAccessControl: one JSON object a line in, one a line out.
 * {"load": FILE} → {"loaded": true, "millis": …} or {"loaded": false, "error": …}
 * {"ask": [QUESTION…], "times": N} → {"answers": […], "millis": …}; times are CPU time of the one thread that works; an answer is true, false, null, a text, a list of
 * names, or {"error": …} where the engine neither allows nor denies.
 * {"watch": FILE} → {"watching": true}; from then on the file is read again and again, beside all else
 * {"watched": true} → {"reads": N, "refusals": [why the engine refused the file…]}
 * {"match": [[PATTERN, NAME…]…]} → {"matches": ["10…"…]}: whether each name matches; null where Java refuses the pattern
 */
public final class EngineOracle
{
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final QueryId QUERY = new QueryId("oracle");
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    /** Milliseconds between two reads of a watched file. */
    private static final long PAUSE = 20;

    private final List<String> refusals = new ArrayList<>();
    private long reads;
    private SystemAccessControl rules;

    public static void main(String[] args)
            throws Exception
    {
        EngineOracle oracle = new EngineOracle();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        PrintStream out = new PrintStream(System.out, false, UTF_8);
        // Whatever a library prints must not stand between the answers.
        System.setOut(System.err);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = JSON.readTree(line);
            ObjectNode answer = oracle.answerTo(request);
            out.println(JSON.writeValueAsString(answer));
            out.flush();
        }
    }

    private ObjectNode answerTo(JsonNode request)
    {
        if (request.has("load")) {
            return load(request.get("load").textValue());
        }
        if (request.has("match")) {
            return match(request.get("match"));
        }
        if (request.has("watch")) {
            return watch(request.get("watch").textValue());
        }
        return request.has("watched") ? watched() : ask(request);
    }

    /** With the shortest refresh period that the engine takes, every question reads the file. */
    private ObjectNode watch(String file)
    {
        Map<String, String> config = Map.of("security.config-file", file, "security.refresh-period", "1ms");
        SystemAccessControl refreshed = new FileBasedSystemAccessControl.Factory().create(config, new Server());
        Thread.ofPlatform().daemon().start(() -> {
            while (true) {
                read(refreshed);
                LockSupport.parkNanos(PAUSE * 1_000_000);
            }
        });
        return JSON.createObjectNode().put("watching", true);
    }

    private void read(SystemAccessControl refreshed)
    {
        String refused = refusalOf(refreshed);
        // A kubelet removes the previous files as soon as it has moved the link: who was on the way to them finds none, once.
        if (refused != null && refused.contains("File does not exist")) {
            refused = refusalOf(refreshed);
        }
        synchronized (refusals) {
            reads++;
            if (refused != null) {
                refusals.add(refused);
            }
        }
    }

    /** Why the engine refuses the file; null: it does not. */
    private static String refusalOf(SystemAccessControl refreshed)
    {
        try {
            refreshed.checkCanExecuteQuery(Identity.ofUser("anybody"), QUERY);
            return null;
        }
        catch (AccessDeniedException denied) {
            return null; // it has read the file
        }
        catch (Throwable refusal) {
            return reason(refusal);
        }
    }

    private ObjectNode watched()
    {
        synchronized (refusals) {
            ObjectNode answer = JSON.createObjectNode().put("reads", reads);
            return answer.set("refusals", JSON.valueToTree(refusals));
        }
    }

    private static ObjectNode match(JsonNode questions)
    {
        ArrayNode matches = JSON.createArrayNode();
        questions.forEach(question -> matches.add(matchesOf(question)));
        return JSON.createObjectNode().set("matches", matches);
    }

    private static String matchesOf(JsonNode question)
    {
        StringBuilder matches = new StringBuilder();
        try {
            Pattern pattern = Pattern.compile(question.get(0).textValue());
            for (int i = 1; i < question.size(); i++) {
                matches.append(pattern.matcher(question.get(i).textValue()).matches() ? '1' : '0');
            }
        }
        catch (PatternSyntaxException | StackOverflowError refusal) {
            return null;
        }
        return matches.toString();
    }

    private ObjectNode load(String file)
    {
        ObjectNode answer = JSON.createObjectNode();
        long began = THREADS.getCurrentThreadCpuTime();
        try {
            rules = new FileBasedSystemAccessControl.Factory().create(Map.of("security.config-file", file), new Server());
            answer.put("loaded", true);
        }
        catch (Throwable refusal) {
            rules = null;
            answer.put("loaded", false).put("error", reason(refusal));
        }
        return answer.put("millis", millisSince(began));
    }

    private ObjectNode ask(JsonNode request)
    {
        ObjectNode answer = JSON.createObjectNode();
        int times = request.path("times").asInt(1);
        long began = THREADS.getCurrentThreadCpuTime();
        for (int i = 0; i < times; i++) {
            ArrayNode answers = JSON.createArrayNode();
            for (JsonNode question : request.get("ask")) {
                answers.add(answer(question));
            }
            answer.set("answers", answers);
        }
        return answer.put("millis", millisSince(began));
    }

    private JsonNode answer(JsonNode question)
    {
        try {
            return JSON.valueToTree(decide(question));
        }
        catch (AccessDeniedException denied) {
            return JSON.valueToTree(false);
        }
        catch (Throwable failure) {
            return JSON.createObjectNode().put("error", reason(failure));
        }
    }

    private Object decide(JsonNode question)
    {
        Set<String> groups = new HashSet<>();
        question.path("groups").forEach(group -> groups.add(group.textValue()));
        Identity user = Identity.forUser(text(question, "user")).withGroups(groups).build();
        SystemSecurityContext context = new SystemSecurityContext(user, QUERY, Instant.EPOCH);
        String catalog = text(question, "catalog");
        CatalogSchemaName schema = new CatalogSchemaName(catalog, text(question, "schema"));
        CatalogSchemaTableName table = new CatalogSchemaTableName(catalog, text(question, "schema"), text(question, "table"));
        String name = text(question, "name");
        CatalogSchemaRoutineName routine = new CatalogSchemaRoutineName(catalog, text(question, "schema"), name);
        Set<String> columns = new HashSet<>();
        question.path("columns").forEach(column -> columns.add(column.textValue()));

        return switch (question.get("ask").textValue()) {
            case "catalog" -> rules.canAccessCatalog(context, catalog);
            case "create-schema" -> allowed(() -> rules.checkCanCreateSchema(context, schema, Map.of()));
            case "drop-schema" -> allowed(() -> rules.checkCanDropSchema(context, schema));
            case "show-schemas" -> allowed(() -> rules.checkCanShowSchemas(context, catalog));
            case "show-tables" -> allowed(() -> rules.checkCanShowTables(context, schema));
            case "show-columns" -> allowed(() -> rules.checkCanShowColumns(context, table));
            case "select" -> allowed(() -> rules.checkCanSelectFromColumns(context, table, columns));
            case "table-procedure" -> runsTableProcedures(rules, context, table, columns);
            case "insert" -> allowed(() -> rules.checkCanInsertIntoTable(context, table));
            case "update" -> allowed(() -> rules.checkCanUpdateTableColumns(context, table, columns));
            case "delete" -> allowed(() -> rules.checkCanDeleteFromTable(context, table));
            case "truncate" -> allowed(() -> rules.checkCanTruncateTable(context, table));
            case "create-table" -> allowed(() -> rules.checkCanCreateTable(context, table, Map.of()));
            case "drop-table" -> allowed(() -> rules.checkCanDropTable(context, table));
            case "create-view" -> allowed(() -> rules.checkCanCreateView(context, table));
            case "drop-view" -> allowed(() -> rules.checkCanDropView(context, table));
            case "view-with-select" -> allowed(() -> rules.checkCanCreateViewWithSelectFromColumns(context, table, columns));
            case "filters" -> rules.getRowFilters(context, table).stream().map(ViewExpression::getExpression).toList();
            case "mask" -> rules.getColumnMask(context, table, name, VARCHAR).map(ViewExpression::getExpression).orElse(null);
            case "filter-catalogs" -> rules.filterCatalogs(context, names(question));
            case "filter-schemas" -> rules.filterSchemas(context, catalog, names(question));
            case "filter-tables" -> tables(question, rules, context, catalog);
            case "filter-columns" -> rules.filterColumns(context, table, names(question));
            case "execute-query" -> allowed(() -> rules.checkCanExecuteQuery(user, QUERY));
            case "view-query" -> allowed(() -> rules.checkCanViewQueryOwnedBy(user, Identity.ofUser(name)));
            case "kill-query" -> allowed(() -> rules.checkCanKillQueryOwnedBy(user, Identity.ofUser(name)));
            case "impersonate" -> allowed(() -> rules.checkCanImpersonateUser(user, name));
            case "read-system" -> allowed(() -> rules.checkCanReadSystemInformation(user));
            case "write-system" -> allowed(() -> rules.checkCanWriteSystemInformation(user));
            case "create-catalog" -> allowed(() -> rules.checkCanCreateCatalog(context, catalog));
            // Of a schema: that is its owner's alone, besides.
            case "become-user" -> allowed(() -> rules.checkCanSetEntityAuthorization(context, entity(schema), new TrinoPrincipal(PrincipalType.USER, name)));
            case "become-role" -> allowed(() -> rules.checkCanSetEntityAuthorization(context, entity(schema), new TrinoPrincipal(PrincipalType.ROLE, name)));
            case "function" -> rules.canExecuteFunction(context, routine);
            case "view-with-function" -> rules.canCreateViewWithExecuteFunction(context, routine);
            case "procedure" -> allowed(() -> rules.checkCanExecuteProcedure(context, routine));
            case "system-property" -> allowed(() -> rules.checkCanSetSystemSessionProperty(user, QUERY, name));
            case "catalog-property" -> allowed(() -> rules.checkCanSetCatalogSessionProperty(context, catalog, name));
            default -> throw new IllegalArgumentException("unknown question " + question);
        };
    }

    /** The engine refuses `ALTER TABLE … EXECUTE` beside any filter or mask of the user's own, and asks for reading besides. */
    private static boolean runsTableProcedures(SystemAccessControl rules, SystemSecurityContext context, CatalogSchemaTableName table, Set<String> columns)
    {
        rules.checkCanExecuteTableProcedure(context, table, "optimize");
        rules.checkCanSelectFromColumns(context, table, Set.of());
        return rules.getRowFilters(context, table).isEmpty()
                && columns.stream().allMatch(column -> rules.getColumnMask(context, table, column, VARCHAR).isEmpty());
    }

    private static EntityKindAndName entity(CatalogSchemaName schema)
    {
        return new EntityKindAndName("SCHEMA", List.of(schema.getCatalogName(), schema.getSchemaName()));
    }

    private static Set<String> names(JsonNode question)
    {
        Set<String> names = new HashSet<>();
        question.path("names").forEach(name -> names.add(name.textValue()));
        return names;
    }

    private static Set<String> tables(JsonNode question, SystemAccessControl rules, SystemSecurityContext context, String catalog)
    {
        Set<SchemaTableName> tables = new HashSet<>();
        names(question).forEach(name -> tables.add(new SchemaTableName(text(question, "schema"), name)));
        Set<String> shown = new HashSet<>();
        rules.filterTables(context, catalog, tables).forEach(table -> shown.add(table.getTableName()));
        return shown;
    }

    private static boolean allowed(Runnable check)
    {
        check.run();
        return true;
    }

    /** Names that a question does not need are never looked at. */
    private static String text(JsonNode question, String key)
    {
        return question.path(key).asText("none");
    }

    private static String reason(Throwable failure)
    {
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root.getClass().getSimpleName() + ": " + root.getMessage();
    }

    private static double millisSince(long began)
    {
        return (THREADS.getCurrentThreadCpuTime() - began) / 1e6;
    }

    private record Server(String getVersion, OpenTelemetry getOpenTelemetry, Tracer getTracer)
            implements SystemAccessControlContext
    {
        Server()
        {
            this("483", OpenTelemetry.noop(), OpenTelemetry.noop().getTracer("oracle"));
        }
    }
}
