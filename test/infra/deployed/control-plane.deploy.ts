/**
 * `cdk bootstrap` and `cdk deploy` against a stand-in for AWS's control plane, and cfn-lint.
 *
 *     npm run test:deploy
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../../infra/bundling.ts';
import { FUNCTION_NAMES } from '../../../infra/functions.ts';
import { synthesiseApp } from './assembly.ts';
import { type Reduced, reduceFor, type Template } from './moto-template.ts';
import { findPythonTools } from './python-tools.ts';

const run = promisify(execFile);
const CDK = join(ROOT, 'node_modules/aws-cdk/bin/cdk');
const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const tools = await findPythonTools();
const missing = 'missing' in tools ? tools.missing : undefined;
const bin = 'bin' in tools ? tools.bin : '';
if (missing !== undefined) console.log(`cdk deploy and cfn-lint: skipped (${missing}).`);

interface Account {
  readonly status: string;
  readonly tables: readonly {
    readonly name: string;
    readonly billing: string;
    readonly stream: string | null;
  }[];
  readonly functions: readonly {
    readonly name: string;
    readonly runtime: string;
    readonly handler: string;
    readonly environment: Readonly<Record<string, string>>;
  }[];
  readonly mappings: readonly unknown[];
  readonly buses: readonly string[];
  readonly queues: readonly string[];
  readonly topics: readonly string[];
  readonly logGroups: readonly string[];
}

describe.skipIf(missing !== undefined)('the template', () => {
  let folder: string;
  let template: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'control-plane-'));
    const assembly = await synthesiseApp(folder, { stage: 'moto', throwAway: 'true' });
    template = join(folder, `${assembly.stackName}.template.json`);
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('passes cfn-lint in two regions', async () => {
    // W3005: CDK writes out that a function depends on its role, though the reference says so too.
    const flags = ['--ignore-checks', 'W3005', '--regions', 'us-east-1', 'eu-central-1'];
    const { stdout } = await run(join(bin, 'cfn-lint'), ['--template', template, ...flags]);
    expect(stdout).toBe('');
  });

  test('does not pass it with a runtime that there is not', async () => {
    const wrong = join(folder, 'wrong.template.json');
    await writeFile(wrong, (await readFile(template, 'utf8')).replace('"nodejs24.x"', '"nodejs99.x"'));
    await expect(run(join(bin, 'cfn-lint'), ['--template', wrong])).rejects.toThrow();
  });

  describe("deployed to moto's CloudFormation", () => {
    let server: ChildProcess;
    let environment: NodeJS.ProcessEnv;
    let reduced: Reduced;
    let first: string;
    let second: string;
    let account: Account;

    const cdk = async (...parameters: readonly string[]): Promise<string> => {
      const { stdout, stderr } = await run(process.execPath, [CDK, ...parameters, '--no-notices'], {
        cwd: folder,
        env: environment,
        timeout: 240_000,
      });
      return stdout + stderr;
    };

    beforeAll(async () => {
      const port = await freePort();
      server = spawn(join(bin, 'moto_server'), ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
      environment = {
        PATH: process.env.PATH,
        HOME: folder,
        // By this name moto knows that the bucket is in the path of a template's URL.
        AWS_ENDPOINT_URL: `http://localhost:${port}`,
        AWS_ACCESS_KEY_ID: 'test',
        AWS_SECRET_ACCESS_KEY: 'test',
        AWS_REGION: 'us-east-1',
        AWS_DEFAULT_REGION: 'us-east-1',
      };
      await responding(port);
      const python = join(bin, 'python');
      const { stdout: types } = await run(python, [script('supported_types.py')]);
      reduced = reduceFor(JSON.parse(types), JSON.parse(await readFile(template, 'utf8')) as Template);
      await writeFile(template, JSON.stringify(reduced.template));
      await cdk('bootstrap', 'aws://123456789012/us-east-1');
      first = await cdk('deploy', '--app', folder, '--require-approval', 'never');
      second = await cdk('deploy', '--app', folder, '--require-approval', 'never');
      const { stdout } = await run(python, [script('read_back.py')], { env: environment });
      account = JSON.parse(stdout);
    }, 600_000);

    afterAll(async () => {
      const exited = once(server, 'exit');
      server.kill();
      await exited;
    });

    test('is made, but for what moto has no model of', () => {
      expect(first).toContain('ResourceMap-moto');
      expect(account.status).toBe('CREATE_COMPLETE');
      expect(reduced.leftOut).toEqual([
        'AWS::ApiGatewayV2::Api',
        'AWS::ApiGatewayV2::Integration',
        'AWS::ApiGatewayV2::Route',
        'AWS::ApiGatewayV2::Stage',
        'AWS::CloudWatch::Alarm',
        'AWS::CloudWatch::Dashboard',
        'AWS::Events::Archive',
        'AWS::Lambda::EventInvokeConfig',
        'AWS::Lambda::Permission',
        'AWS::SNS::TopicPolicy',
        'AWS::SQS::QueuePolicy',
        'AWS::Scheduler::Schedule',
      ]);
    });

    test('is there when it is read back: tables, functions with their environment, stream, bus, queue, topic', () => {
      expect(account.tables.map(({ billing }) => billing)).toEqual(new Array(6).fill('PAY_PER_REQUEST'));
      expect(account.tables.flatMap(({ stream }) => stream ?? [])).toEqual(
        new Array(3).fill('NEW_AND_OLD_IMAGES'),
      );
      expect(account.functions.map(({ name }) => name).sort()).toEqual(
        FUNCTION_NAMES.map((name) => `resource-map-moto-${name}`).sort(),
      );
      // It drops the architecture, point-in-time recovery and TTL on the way, so those are asserted
      // of the template alone, in stack.test.ts.
      for (const { runtime, handler } of account.functions) {
        expect([runtime, handler]).toEqual(['nodejs24.x', 'index.handler']);
      }
      const names = account.tables.map(({ name }) => name);
      const push = account.functions.find(({ name }) => name === 'resource-map-moto-push');
      expect(names).toContain(push?.environment.HEADS_TABLE);
      expect(names).toContain(push?.environment.BODIES_TABLE);
      expect(names).toContain(push?.environment.TRUST_TABLE);
      const plan = account.functions.find(({ name }) => name === 'resource-map-moto-plan');
      expect(names).toContain(plan?.environment.POOLS_TABLE);
      expect(names).toContain(plan?.environment.CLAIMS_TABLE);
      const mapping = { batch: 100, responses: ['ReportBatchItemFailures'] };
      // Of the streams of heads and of claims.
      expect(account.mappings).toEqual([mapping, mapping]);
      expect(account.buses).toContain('resource-map-moto');
      expect(account.queues).toEqual([expect.stringContaining('resource-map-moto-dead-letters')]);
      expect(account.topics).toEqual([expect.stringContaining('resource-map-moto-alarms')]);
      expect(account.logGroups).toEqual(
        expect.arrayContaining(FUNCTION_NAMES.map((name) => `/aws/lambda/resource-map-moto-${name}`)),
      );
    });

    test('is not changed by a second deploy', () => {
      expect(second).toContain('ResourceMap-moto (no changes)');
    });
  });
});

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('The probe had no port.');
  return address.port;
}

async function responding(port: number): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    try {
      await fetch(`http://127.0.0.1:${port}/moto-api/`);
      return;
    } catch {
      await sleep(200);
    }
  }
  throw new Error('moto did not start.');
}
