import com.google.inject.AbstractModule;
import com.google.inject.Inject;
import com.google.inject.Provides;
import com.google.inject.Scopes;
import com.google.inject.Singleton;
import io.opentelemetry.api.OpenTelemetry;
import io.trino.plugin.base.aggregation.AggregateFunctionRewriter;
import io.trino.plugin.base.expression.ConnectorExpressionRewriter;
import io.trino.plugin.base.mapping.IdentifierMapping;
import io.trino.plugin.jdbc.BaseJdbcClient;
import io.trino.plugin.jdbc.BaseJdbcConfig;
import io.trino.plugin.jdbc.ColumnMapping;
import io.trino.plugin.jdbc.ConnectionFactory;
import io.trino.plugin.jdbc.DriverConnectionFactory;
import io.trino.plugin.jdbc.ForBaseJdbc;
import io.trino.plugin.jdbc.JdbcClient;
import io.trino.plugin.jdbc.JdbcExpression;
import io.trino.plugin.jdbc.JdbcJoinCondition;
import io.trino.plugin.jdbc.JdbcPlugin;
import io.trino.plugin.jdbc.JdbcSortItem;
import io.trino.plugin.jdbc.JdbcTableHandle;
import io.trino.plugin.jdbc.JdbcTypeHandle;
import io.trino.plugin.jdbc.QueryBuilder;
import io.trino.plugin.jdbc.StandardColumnMappings;
import io.trino.plugin.jdbc.WriteMapping;
import io.trino.plugin.jdbc.aggregation.ImplementCountAll;
import io.trino.plugin.jdbc.aggregation.ImplementMinMax;
import io.trino.plugin.jdbc.credential.CredentialProvider;
import io.trino.plugin.jdbc.expression.JdbcConnectorExpressionRewriterBuilder;
import io.trino.plugin.jdbc.expression.ParameterizedExpression;
import io.trino.plugin.jdbc.logging.RemoteQueryModifier;
import io.trino.spi.TrinoException;
import io.trino.spi.connector.AggregateFunction;
import io.trino.spi.connector.ColumnHandle;
import io.trino.spi.connector.ConnectorSession;
import io.trino.spi.type.BigintType;
import io.trino.spi.type.Type;
import io.trino.spi.type.VarcharType;
import org.postgresql.Driver;

import java.sql.Connection;
import java.sql.Types;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import static io.trino.spi.StandardErrorCode.NOT_SUPPORTED;

/**
 * A connector `postgresql` for `bigint` and `text`, on the engine's own base of all connectors over JDBC. The engine's own of this name is
 * not published as a jar. As that one it gives filters, count, min, max, sort with a limit, and joins to the database.
 */
public final class Postgres
        extends JdbcPlugin
{
    public Postgres()
    {
        super("postgresql", ClientModule::new);
    }

    private static final class ClientModule
            extends AbstractModule
    {
        @Override
        protected void configure()
        {
            bind(JdbcClient.class).annotatedWith(ForBaseJdbc.class).to(Client.class).in(Scopes.SINGLETON);
        }

        @Provides
        @Singleton
        @ForBaseJdbc
        static ConnectionFactory connections(BaseJdbcConfig config, CredentialProvider credentials, OpenTelemetry telemetry)
        {
            return DriverConnectionFactory.builder(new Driver(), config.getConnectionUrl(), credentials)
                    .setOpenTelemetry(telemetry)
                    .build();
        }
    }

    private static final class Client
            extends BaseJdbcClient
    {
        private final ConnectorExpressionRewriter<ParameterizedExpression> expressions =
                JdbcConnectorExpressionRewriterBuilder.newBuilder()
                        .addStandardRules(this::quoted)
                        .map("$equal(left, right)").to("left = right")
                        .build();
        private final AggregateFunctionRewriter<JdbcExpression, ?> aggregates = new AggregateFunctionRewriter<>(
                expressions,
                Set.of(
                        new ImplementCountAll(new JdbcTypeHandle(Types.BIGINT, Optional.of("int8"), Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty())),
                        new ImplementMinMax(false)));

        @Inject
        public Client(BaseJdbcConfig config, @ForBaseJdbc ConnectionFactory connections, QueryBuilder queries, IdentifierMapping names, RemoteQueryModifier modifier)
        {
            super("\"", connections, queries, config.getJdbcTypesMappedToVarchar(), names, modifier, true);
        }

        @Override
        public Optional<ColumnMapping> toColumnMapping(ConnectorSession session, Connection connection, JdbcTypeHandle type)
        {
            return switch (type.jdbcType()) {
                case Types.BIGINT -> Optional.of(StandardColumnMappings.bigintColumnMapping());
                case Types.VARCHAR -> Optional.of(StandardColumnMappings.varcharColumnMapping(VarcharType.VARCHAR, true));
                default -> Optional.empty();
            };
        }

        @Override
        public WriteMapping toWriteMapping(ConnectorSession session, Type type)
        {
            if (type == BigintType.BIGINT) {
                return WriteMapping.longMapping("bigint", StandardColumnMappings.bigintWriteFunction());
            }
            if (type instanceof VarcharType) {
                return WriteMapping.sliceMapping("text", StandardColumnMappings.varcharWriteFunction());
            }
            throw new TrinoException(NOT_SUPPORTED, "a column of type " + type);
        }

        @Override
        public Optional<ParameterizedExpression> convertPredicate(ConnectorSession session, io.trino.spi.expression.ConnectorExpression expression, Map<String, ColumnHandle> columns)
        {
            return expressions.rewrite(session, expression, columns);
        }

        @Override
        public Optional<JdbcExpression> implementAggregation(ConnectorSession session, AggregateFunction aggregate, Map<String, ColumnHandle> columns)
        {
            return aggregates.rewrite(session, aggregate, columns);
        }

        @Override
        protected boolean isSupportedJoinCondition(ConnectorSession session, JdbcJoinCondition condition)
        {
            return true;
        }

        @Override
        public boolean supportsTopN(ConnectorSession session, JdbcTableHandle table, List<JdbcSortItem> order)
        {
            return true;
        }

        @Override
        protected Optional<TopNFunction> topNFunction()
        {
            return Optional.of(TopNFunction.sqlStandard(this::quoted));
        }

        @Override
        public boolean isTopNGuaranteed(ConnectorSession session)
        {
            return true;
        }
    }
}
