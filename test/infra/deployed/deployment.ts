/**
 * A stack that `cdk synth` made, brought up on this machine: each function from its asset, in
 * Node 24 under Amazon's runtime client, with its environment, memory and timeout; tables from
 * the template in DynamoDB Local; its stream, with the template's filter, into notify; its
 * routes; its schedule; and a bus.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  type DynamoDBClient,
} from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda';
import { type BusEvent, LocalBus } from '../../../functions/local/event-bus.ts';
import { type StreamReader, startStreamReader } from '../../../functions/local/stream-reader.ts';
import { jsonLinesTelemetry } from '../../../functions/runtime/telemetry.ts';
import { FUNCTION_NAMES, type FunctionName } from '../../../infra/functions.ts';
import { localClient } from '../../engines/dynamodb-local.ts';
import { passes } from '../event-pattern.ts';
import { type Assembly, type Physical, type Resource, resolve, resourcesOf } from './assembly.ts';
import { type HttpFront, startHttpFront } from './http-front.ts';
import { LambdaProcess } from './lambda-process.ts';
import { type AwsCall, tapWire, type WireTap } from './wire-tap.ts';

export interface DeploymentOptions {
  readonly assembly: Assembly;
  readonly node: string;
  readonly runtimeClient: string;
  readonly dynamoEndpoint: string;
}

export interface Deployment {
  /** Of the HTTP API. */
  readonly url: string;
  readonly dynamo: DynamoDBClient;
  readonly tables: { readonly heads: string; readonly contents: string; readonly claims: string };
  /** What is on the bus, in order. */
  readonly events: readonly BusEvent[];
  /** Records that the stream gave, and those that the filter let through to notify. */
  readonly stream: { readonly records: number; readonly reported: number };
  readonly functions: ReadonlyMap<FunctionName, DeployedFunction>;
  /** One call of the schedule of that function. */
  runSchedule(of: 'expire' | 'sweep' | 'plan'): Promise<unknown>;
  close(): Promise<void>;
}

export interface DeployedFunction {
  readonly logicalId: string;
  readonly lambda: LambdaProcess;
  /** What it called. */
  readonly calls: AwsCall[];
}

export async function deploy(options: DeploymentOptions): Promise<Deployment> {
  const { assembly } = options;
  const closing: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const each of closing.reverse()) await each();
  };
  try {
    const dynamo = localClient(options.dynamoEndpoint);
    closing.push(async () => dynamo.destroy());
    const physical = physicalNames(assembly);
    const tables = await createTables(assembly, dynamo, physical);
    const bus = await startBus();
    closing.push(bus.close);
    const functions = new Map<FunctionName, DeployedFunction>();
    for (const name of FUNCTION_NAMES) {
      const calls: AwsCall[] = [];
      const taps = [
        await tapWire(options.dynamoEndpoint, calls),
        await tapWire(bus.endpoint, calls),
      ] as const;
      closing.push(...taps.map((tap) => tap.close));
      const [logicalId, resource] = functionResource(assembly, name);
      const lambda = await startFunction(options, resource, physical, taps);
      closing.push(() => lambda.stop());
      functions.set(name, { logicalId, lambda, calls });
    }
    const front = await startFront(assembly, functions);
    closing.push(front.close);
    const stream = { records: 0, reported: 0 };
    for (const [logicalId, mapping] of resourcesOf(assembly, 'AWS::Lambda::EventSourceMapping')) {
      const table = physical.ref(logicalIdOf(mapping.Properties.EventSourceArn));
      const counts = logicalId.includes('Claims') ? { records: 0, reported: 0 } : stream;
      const reader = startFeed(options, mapping, table, dynamo, named(functions, 'notify').lambda, counts);
      closing.push(() => reader.stop());
    }
    return {
      url: front.url,
      dynamo,
      tables,
      events: bus.events,
      stream,
      functions,
      runSchedule: (of) => {
        const { logicalId, lambda } = named(functions, of);
        const [target] = resourcesOf(assembly, 'AWS::Scheduler::Schedule')
          .map(([, { Properties }]) => Properties.Target as { Arn: unknown; Input: string })
          .filter(({ Arn }) => logicalIdOf(Arn) === logicalId);
        if (target === undefined) throw new Error(`No schedule calls ${of}.`);
        return lambda.invoke(JSON.parse(target.Input));
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

export function named(functions: Deployment['functions'], name: FunctionName): DeployedFunction {
  const found = functions.get(name);
  if (found === undefined) throw new Error(`The function ${name} is not deployed.`);
  return found;
}

function byLogicalId(functions: Deployment['functions'], logicalId: string): DeployedFunction {
  const found = [...functions.values()].find((each) => each.logicalId === logicalId);
  if (found === undefined) throw new Error(`No function is called ${logicalId}.`);
  return found;
}

/** Of `{"Fn::GetAtt": [id, …]}` or `{"Ref": id}`. */
export function logicalIdOf(reference: unknown): string {
  const { Ref, 'Fn::GetAtt': attribute } = reference as {
    Ref?: string;
    'Fn::GetAtt'?: readonly [string, string];
  };
  const id = Ref ?? attribute?.[0];
  if (id === undefined) throw new Error(`${JSON.stringify(reference)} names no resource.`);
  return id;
}

/** CloudFormation gives a table without a name one of its own; everything else here has one. */
export function physicalNames({ stackName, resources }: Assembly): Physical {
  const nameOf = (logicalId: string): string => {
    const { Type, Properties } = resources.get(logicalId) ?? { Type: '', Properties: {} };
    if (Type === 'AWS::DynamoDB::Table') return `${stackName}-${logicalId}-1ABCDEFGHIJKL`;
    const name = Properties.Name ?? Properties.FunctionName ?? Properties.QueueName ?? Properties.TopicName;
    return typeof name === 'string' ? name : logicalId;
  };
  return { ref: nameOf, attribute: (logicalId, attribute) => `${attribute} of ${nameOf(logicalId)}` };
}

async function createTables(
  assembly: Assembly,
  dynamo: DynamoDBClient,
  physical: Physical,
): Promise<Deployment['tables']> {
  const names: Record<string, string> = {};
  for (const [logicalId, { Properties }] of resourcesOf(assembly, 'AWS::DynamoDB::Table')) {
    const { KeySchema, AttributeDefinitions, BillingMode, StreamSpecification } =
      Properties as unknown as CreateTableCommandInput;
    const TableName = physical.ref(logicalId);
    await dynamo.send(
      new CreateTableCommand({
        TableName,
        KeySchema,
        AttributeDefinitions,
        BillingMode,
        ...(StreamSpecification === undefined
          ? {}
          : { StreamSpecification: { ...StreamSpecification, StreamEnabled: true } }),
      }),
    );
    if (logicalId.includes('Heads')) names.heads = TableName;
    if (logicalId.includes('Bodies')) names.contents = TableName;
    if (logicalId.includes('Claims')) names.claims = TableName;
  }
  const { heads, contents, claims } = names;
  if (heads === undefined || contents === undefined || claims === undefined)
    throw new Error('The template lacks the tables of heads, contents and claims.');
  return { heads, contents, claims };
}

function functionResource(assembly: Assembly, name: FunctionName): readonly [string, Resource] {
  const found = resourcesOf(assembly, 'AWS::Lambda::Function').find(([, { Properties }]) =>
    String(Properties.FunctionName).endsWith(`-${name}`),
  );
  if (found === undefined) throw new Error(`The template has no function ${name}.`);
  return found;
}

function startFunction(
  { assembly, node, runtimeClient }: DeploymentOptions,
  { Properties }: Resource,
  physical: Physical,
  [dynamo, bus]: readonly [WireTap, WireTap],
): Promise<LambdaProcess> {
  const { Runtime, Handler, MemorySize, Timeout, FunctionName: functionName } = Properties;
  if (Runtime !== 'nodejs24.x')
    throw new Error(`It is run on Node 24 here, and the template says ${Runtime}.`);
  const { S3Key } = Properties.Code as { S3Key: string };
  const { Variables } = resolve(Properties.Environment, physical) as { Variables: Record<string, string> };
  return LambdaProcess.start({
    node,
    runtimeClient,
    functionName: String(functionName),
    handler: String(Handler),
    taskRoot: assembly.assetFolder(S3Key.replace(/\.zip$/, '')),
    memoryMb: Number(MemorySize),
    timeoutSeconds: Number(Timeout),
    // The SDK's own variables say where the services are: the functions know of no other place than AWS.
    environment: {
      ...Variables,
      AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
      AWS_ENDPOINT_URL_EVENTBRIDGE: bus.endpoint,
    },
  });
}

function startFront(assembly: Assembly, functions: Deployment['functions']): Promise<HttpFront> {
  const integrations = new Map(
    resourcesOf(assembly, 'AWS::ApiGatewayV2::Route').map(([, { Properties }]) => {
      const [, parts] = (Properties.Target as { 'Fn::Join': [string, readonly unknown[]] })['Fn::Join'];
      const integration = assembly.resources.get(logicalIdOf(parts.find((part) => typeof part === 'object')));
      const { lambda } = byLogicalId(functions, logicalIdOf(integration?.Properties.IntegrationUri));
      return [String(Properties.RouteKey), (event: unknown) => lambda.invoke(event)] as const;
    }),
  );
  return startHttpFront(integrations);
}

function startFeed(
  { dynamoEndpoint }: DeploymentOptions,
  mapping: Resource,
  table: string,
  dynamo: DynamoDBClient,
  notify: LambdaProcess,
  counts: { records: number; reported: number },
): StreamReader {
  const { Filters } = mapping.Properties.FilterCriteria as { Filters: readonly { Pattern: string }[] };
  const filters = Filters.map(({ Pattern }) => JSON.parse(Pattern));
  return startStreamReader({
    dynamo,
    streams: new DynamoDBStreamsClient({
      endpoint: dynamoEndpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    }),
    table,
    telemetry: jsonLinesTelemetry(),
    handler: async ({ Records }: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> => {
      const reported = Records.filter((record) => passes(filters, record));
      counts.records += Records.length;
      counts.reported += reported.length;
      if (reported.length === 0) return { batchItemFailures: [] };
      // As Lambda has it, and DynamoDB Local's records do not.
      const eventSourceARN = `arn:aws:dynamodb:us-east-1:111122223333:table/${table}/stream/label`;
      const event = { Records: reported.map((record) => ({ ...record, eventSourceARN })) };
      return (await notify.invoke(event)) as DynamoDBBatchResponse;
    },
  });
}

async function startBus(): Promise<{
  endpoint: string;
  events: readonly BusEvent[];
  close(): Promise<void>;
}> {
  const bus = new LocalBus();
  const events: BusEvent[] = [];
  const subscription = bus.subscribe();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const Entries = bus.put((JSON.parse(Buffer.concat(chunks).toString()) as { Entries: unknown }).Entries);
    events.push(...((await subscription.take(Entries.length, new AbortController().signal)) ?? []));
    const FailedEntryCount = Entries.filter((entry) => 'ErrorCode' in entry).length;
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(JSON.stringify({ FailedEntryCount, Entries }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    events,
    close: async () => {
      bus.close();
      server.closeAllConnections();
      await new Promise((resolved) => server.close(resolved));
    },
  };
}
