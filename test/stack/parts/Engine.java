/** The engine's published jars hold a server that can be started, but no main class. */
public final class Engine
{
    public static void main(String[] args)
    {
        new io.trino.server.Server().start(args[0]);
    }
}
