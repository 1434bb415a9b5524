import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { column, FakeTrino, failed } from '../support/fakes/fake-trino.js';
import { exampleOf, installPacked, linkInstalled, manifestOf } from '../support/service/packed-library.js';
import { sharedFolder } from '../support/service/shared-folder.js';

const SOURCE = 'src/query-engine/client';

describe('grantline-trino-client, packed and installed in an empty project', () => {
  const project = sharedFolder('grantline-trino-client-');
  const engine = new FakeTrino();
  let address: string;
  beforeAll(async () => {
    address = await engine.listen();
    engine.alternateHeader = null;
    installPacked(SOURCE, project);
    writeFileSync(join(project, 'example.mjs'), exampleOf(SOURCE, 'js'));
  });
  afterAll(() => engine.close());

  const run = () =>
    promisify(execFile)(process.execPath, ['example.mjs'], {
      cwd: project,
      env: { PATH: process.env['PATH'], ENGINE_URL: address },
    });
  const SQL =
    "EXECUTE IMMEDIATE 'SELECT name, orders, place FROM customers WHERE orders > ?' USING BIGINT '9007199254740993'";
  const place = {
    rawType: 'row',
    arguments: [{ kind: 'NAMED_TYPE', value: { fieldName: { name: 'city' }, typeSignature: { rawType: 'varchar' } } }],
  };

  it('runs the example of its README', async () => {
    const columns = [
      column('name', 'varchar'),
      column('orders', 'bigint'),
      { name: 'place', type: 'row(city varchar)', typeSignature: place },
    ];
    engine.answers(
      SQL,
      { columns, data: '[["Ida",9007199254740995,["Ulm"]],["Jan",9223372036854775807,null]]' },
      { data: '[["Kim",9007199254740997,["Bonn"]]]' },
    );

    const { stdout, stderr } = await run();

    expect(stdout).toBe('Ida 9007199254740995n Ulm\nJan 9223372036854775807n undefined\n');
    expect(stderr).toBe('');
    expect(engine.statements.at(-1)).toMatchObject({ session: { user: 'ana', catalog: 'lake' }, cancelled: true });
  });

  it('tells there whether a failure is worth another try', async () => {
    engine.answers(SQL, failed('CLUSTER_OUT_OF_MEMORY', 'private', 'INSUFFICIENT_RESOURCES'));

    const { stdout } = await run();

    expect(stdout).toMatch(/^OperationalError true CLUSTER_OUT_OF_MEMORY: /);
  });

  it('has types, by which the example compiles', () => {
    linkInstalled('@types/node', project);
    linkInstalled('undici-types', project);
    const strict = ['--allowJs', '--checkJs', '--noEmit', '--strict', '--module', 'nodenext', '--types', 'node'];
    const typescript = resolve('node_modules', 'typescript', 'bin', 'tsc');
    const compiler = [typescript, ...strict, '--skipLibCheck', '--target', 'es2023', 'example.mjs'];
    const { stdout } = spawnSync(process.execPath, compiler, { cwd: project, encoding: 'utf8' });

    expect(stdout).toBe('');
  });

  it('has the version, the Node and the dependencies of the service', () => {
    const [own, service] = [manifestOf(SOURCE), manifestOf('.')];

    expect(own).toMatchObject({ version: service.version, engines: service.engines });
    expect(service.dependencies).toMatchObject(own.dependencies);
  });
});
