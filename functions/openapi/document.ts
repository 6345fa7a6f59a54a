/**
 * Makes the OpenAPI document: of the routes that an app has, their descriptions, the schemas of
 * the messages that they read and write, the table of permissions and that of problems.
 */
import { STATUS_CODES } from 'node:http';
import type { DescMessage } from '@bufbuild/protobuf';
import { Hono } from 'hono';
import {
  type DescribeRouteOptions,
  describeRoute,
  type GenerateSpecOptions,
  generateSpecs,
} from 'hono-openapi';
import { PERMISSIONS, type Permission } from '../auth/permissions.ts';
import type { ErrorCode } from '../core/errors.ts';
import { FindingSchema } from '../gen/resourcemap/v1/service_pb.ts';
import { isApiRoute, routeName } from '../http/route-name.ts';
import { PROBLEMS } from '../http/status.ts';
import type { Operation, OperationResponse, Operations, Tag } from './operation.ts';
import {
  BUNDLE_ID_PARAMETER,
  CLAIM_ID_PARAMETER,
  CLUSTER_ID_PARAMETER,
  COPY_PARAMETER,
  POOL_NAME_PARAMETER,
  problemHeaders,
  REGISTRATION_ID_PARAMETER,
  REQUEST_HEADERS,
  REQUEST_ID_HEADER,
  RESPONSE_HEADERS,
} from './parameters.ts';
import { problemsOf } from './problems.ts';
import { type JsonSchema, ProtoJsonSchemas, reachableFrom } from './proto-json-schema.ts';

export type OpenApiDocument = Awaited<ReturnType<typeof generateSpecs>>;

export interface DocumentSources {
  /** Of the app; those that only the local service has, and the page, are not part of the API. */
  readonly routes: readonly { readonly method: string; readonly path: string }[];
  readonly operations: Operations;
  /** As {@link protoComments} gives them. */
  readonly comments: ReadonlyMap<string, string>;
  /** Of the package. */
  readonly version: string;
}

/** Names of media types under which every message is read and written in Protobuf. */
const PROTOBUF_TYPES = ['application/x-protobuf', 'application/protobuf'] as const;

const TAGS: Readonly<Record<Tag, string>> = {
  snapshots: 'What agents push, and what of it is served.',
  clusters: 'What is known of each cluster.',
  map: 'The merged map: whole, as a clock, or only what changed.',
  capacity: 'What is left, and whether something fits there.',
  bundles: 'Whether workloads can ever be placed, and where they would land now.',
  claims: 'What one scheduler decided for, so that no other decides for it again.',
  pools: 'Where bundles may land, in the order in which it is to be used up.',
  access: 'Who may use the service.',
  about: 'Open to everybody.',
};

const PATH_PARAMETERS = {
  nothing: [],
  'a cluster': [CLUSTER_ID_PARAMETER],
  'a pool': [POOL_NAME_PARAMETER],
  'a claim': [CLAIM_ID_PARAMETER],
  'a bundle': [BUNDLE_ID_PARAMETER],
  'a copy': [BUNDLE_ID_PARAMETER, COPY_PARAMETER],
  'a grant': [REGISTRATION_ID_PARAMETER],
} as const;

/** @throws Error for a route without a description or a permission, and for a description without a route */
export async function openApiDocument(sources: DocumentSources): Promise<OpenApiDocument> {
  const { routes, operations, comments, version } = sources;
  const described = new Map<string, Operation>(Object.entries(operations));
  const asked = [...described.values()].flatMap(({ body }) => (body === undefined ? [] : [body]));
  const schemas = new ProtoJsonSchemas({ comments, fromClients: reachableFrom(asked) });
  const problemResponses = new ProblemResponses();
  const app = new Hono();
  const names = new Set<string>();
  for (const { method, path } of routes) {
    const name = routeName({ method, path });
    if (method === 'ALL' || !isApiRoute(name) || names.has(name)) continue;
    names.add(name);
    const operation = described.get(name);
    const permission = PERMISSIONS.get(name);
    if (operation === undefined || permission === undefined) {
      throw new Error(`${name} has no ${operation === undefined ? 'description' : 'permission'}.`);
    }
    const plainPath = name.slice(method.length + 1).replace(/\{(\w+)\}/g, ':$1');
    const spec = describe(name, operation, permission, schemas, problemResponses);
    // What a description holds is checked against OpenAPI's own schema by the linter.
    app.on(method, plainPath, describeRoute(spec as DescribeRouteOptions), (c) => c.body(null));
  }
  const missing = [...described.keys()].filter((name) => !names.has(name));
  if (missing.length > 0)
    throw new Error(`There is no route ${missing.join(' or ')}, of which there is a description.`);

  const documentation = {
    openapi: '3.1.0',
    info: {
      title: 'Resource Map',
      summary: 'One truthful, always current map of every accelerator cluster.',
      version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: INTRODUCTION,
    },
    servers: [{ url: '/', description: 'Where this document is.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    components: {
      schemas: { ...schemas.components(), ...problemSchemas(schemas) },
      responses: problemResponses.components(),
      parameters: Object.fromEntries(
        Object.entries(REQUEST_HEADERS).map(([component, header]) => [
          component,
          { in: 'header', ...header },
        ]),
      ),
      headers: {
        ...Object.fromEntries(
          Object.entries(RESPONSE_HEADERS).map(([name, header]) => [pascal(name), header]),
        ),
        XRequestId: REQUEST_ID_HEADER,
      },
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A JWT of a registered OIDC issuer, or a token that this service issued. A local service asks for one only ' +
            'where it is started with `--auth`.',
        },
      },
    },
  };
  return generateSpecs(app, {
    documentation: documentation as unknown as GenerateSpecOptions['documentation'],
    excludeStaticFile: false,
  });
}

function describe(
  name: string,
  operation: Operation,
  permission: Permission,
  schemas: ProtoJsonSchemas,
  problemResponses: ProblemResponses,
): object {
  const { id, tag, summary, description, query = [], headers = [], body, responses } = operation;
  const named = whatPathNames(name);
  const problems = problemsOf({
    permission,
    names: named,
    readsBody: body !== undefined,
    negotiates: Object.values(responses).some(
      (answer) => answer.body !== undefined && isMessage(answer.body),
    ),
    own: operation.problems,
  });
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: `${description}\n\n${whoMay(permission)}`,
    security: permission === 'open' ? [] : [{ bearer: [] }],
    parameters: [
      ...PATH_PARAMETERS[named],
      ...query.map((parameter) => ({ in: 'query', ...parameter })),
      ...[...headers, ...(body === undefined ? [] : ['ContentEncoding']), 'XRequestId'].map((component) => ({
        $ref: `#/components/parameters/${component}`,
      })),
    ],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: messageContent(body, schemas, operation.example) } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, answer]) => [status, successResponse(answer, schemas)]),
      ),
      ...Object.fromEntries(
        [...problems].map(([status, codes]) => [status, problemResponses.of(status, codes)]),
      ),
    },
  };
}

function whatPathNames(route: string): keyof typeof PATH_PARAMETERS {
  if (route.includes('/clusters/{id}')) return 'a cluster';
  if (route.includes('/claims/{id}')) return 'a claim';
  if (route.includes('/copies/{copy}')) return 'a copy';
  if (route.includes('/bundles/{id}')) return 'a bundle';
  if (route.includes('/pools/{name}')) return 'a pool';
  return route.includes('{id}') ? 'a grant' : 'nothing';
}

function whoMay(permission: Permission): string {
  if (permission === 'open') return 'Open: no token is asked for.';
  const who = {
    agent: { own: 'the agent of the cluster', filtered: 'an agent', all: 'an agent' },
    scheduler: 'a scheduler',
    viewer: 'a viewer',
    monitor: 'a monitor',
    admin: 'an admin',
  };
  const { agent, scheduler, viewer, monitor, admin } = permission;
  const names = [
    ...(agent === undefined ? [] : [who.agent[agent]]),
    ...(scheduler === undefined ? [] : [who.scheduler]),
    ...(viewer === undefined ? [] : [who.viewer]),
    ...(monitor === undefined ? [] : [who.monitor]),
    ...(admin === undefined ? [] : [who.admin]),
  ];
  return `For ${new Intl.ListFormat('en-GB', { type: 'conjunction' }).format(names)}.`;
}

function successResponse(
  { description, body, headers = [] }: OperationResponse,
  schemas: ProtoJsonSchemas,
): object {
  return {
    description,
    headers: headerReferences(['X-Request-Id', ...headers]),
    ...(body === undefined
      ? {}
      : {
          content: isMessage(body) ? messageContent(body, schemas) : { 'application/json': { schema: body } },
        }),
  };
}

function isMessage(body: DescMessage | JsonSchema): body is DescMessage {
  return body.kind === 'message';
}

/** A message in its three media types. Protobuf has no JSON Schema, so its message is named. */
function messageContent(message: DescMessage, schemas: ProtoJsonSchemas, example?: JsonSchema): object {
  return {
    'application/json': {
      schema: schemas.message(message),
      ...(example === undefined ? {} : { example }),
    },
    ...Object.fromEntries(PROTOBUF_TYPES.map((type) => [type, { 'x-protobuf-message': message.typeName }])),
  };
}

function headerReferences(names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${pascal(name)}` }]));
}

/** `if-none-match` as the name of a component. */
function pascal(name: string): string {
  return name.replace(/(?:^|[-_ ])(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Responses with the same status and codes are one component. */
class ProblemResponses {
  readonly #byCodes = new Map<string, { readonly name: string; readonly response: object }>();
  readonly #count = new Map<number, number>();

  of(status: number, codes: readonly ErrorCode[]): object {
    const key = codes.join();
    let known = this.#byCodes.get(key);
    if (known === undefined) {
      const count = (this.#count.get(status) ?? 0) + 1;
      this.#count.set(status, count);
      const name = pascal(STATUS_CODES[status] ?? `Status ${status}`) + (count === 1 ? '' : String(count));
      known = { name, response: problemResponse(status, codes) };
      this.#byCodes.set(key, known);
    }
    return { $ref: `#/components/responses/${known.name}` };
  }

  components(): Readonly<Record<string, object>> {
    return Object.fromEntries([...this.#byCodes.values()].map(({ name, response }) => [name, response]));
  }
}

function problemResponse(status: number, codes: readonly ErrorCode[]): object {
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join('\n\n'),
    headers: { ...headerReferences(['X-Request-Id']), ...problemHeaders(status, codes) },
    content: {
      'application/problem+json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Problem' },
            {
              type: 'object',
              properties: {
                status: { const: status },
                code: { enum: codes },
                title: { enum: codes.map((code) => PROBLEMS[code].title) },
              },
            },
          ],
        },
      },
    },
  };
}

function problemSchemas(schemas: ProtoJsonSchemas): Readonly<Record<string, JsonSchema>> {
  const codes = (Object.keys(PROBLEMS) as ErrorCode[]).sort();
  return {
    ProblemCode: {
      type: 'string',
      description: 'What went wrong. Stable: match on this. Later versions may add codes.',
      enum: codes,
    },
    Problem: {
      type: 'object',
      description: 'Problem details (RFC 9457).',
      properties: {
        type: {
          type: 'string',
          pattern: '^urn:resource-map:problem:[a-z_]+$',
          description: 'A URN that ends in the code.',
        },
        title: { type: 'string', description: 'The same for every problem of a code.' },
        status: { type: 'integer', enum: [...new Set(codes.map((code) => PROBLEMS[code].status))].sort() },
        detail: { type: 'string', description: 'Names the offending value and what would be right.' },
        instance: { type: 'string', description: 'The path of the request, where it was read so far.' },
        code: { $ref: '#/components/schemas/ProblemCode' },
        requestId: { type: 'string', description: 'Finds the cause in the log of the service.' },
        highWaterMark: {
          type: 'string',
          pattern: '^(?:0|[1-9][0-9]{0,19})$',
          description: 'With `counter_regressed` and `counter_reused`: the next push must be above it.',
        },
        findings: {
          type: 'array',
          items: schemas.message(FindingSchema),
          description: 'Everything that is wrong with the body, as far as it fits.',
        },
        omittedFindings: { type: 'integer', minimum: 1, description: 'Findings that did not fit.' },
        field: {
          type: 'string',
          description:
            'What of the request is at fault: a query parameter, a header, or what an id in the path names.',
        },
        value: { type: 'string', description: 'What `field` has, cut if it is long.' },
        nearest: {
          type: 'array',
          items: { type: 'string' },
          minItems: 1,
          description: 'What was probably meant, the nearest first; absent if nothing is near.',
        },
        limit: {
          type: 'integer',
          minimum: 0,
          description: 'The limit that the request exceeds, in the unit that `detail` names.',
        },
        allowedRoles: {
          type: 'array',
          items: { type: 'string' },
          description: 'With `forbidden`: roles whose tokens may send the request.',
        },
        blockingClaims: {
          type: 'array',
          items: { type: 'string', format: 'uuid' },
          description: 'With `claim_does_not_fit`: ids of live claims on the targets concerned.',
        },
        maxChains: {
          type: 'integer',
          minimum: 0,
          description: 'With `claim_does_not_fit`, for a claim of one rank: how many chains would fit.',
        },
        fitsWithScaleOut: {
          type: 'boolean',
          description:
            'With `claim_does_not_fit`: whether nodes that pools may still add would do, if known.',
        },
        state: {
          type: 'string',
          pattern: '^CLAIM_STATE_[A-Z]+$',
          description: 'With `claim_ended`: how the claim ended, if known.',
        },
        retryAfterSeconds: {
          type: 'integer',
          minimum: 1,
          description: 'With `claim_does_not_fit`: as in the header Retry-After.',
        },
      },
      required: ['type', 'title', 'status', 'detail', 'code', 'requestId'],
    },
  };
}

const INTRODUCTION = `Cluster agents push snapshots of their cluster, schedulers fetch the merged map, and everybody asks what is left.

**Formats.** Every message is read and written in JSON (ProtoJSON) and in Protobuf, by \`Content-Type\` and \`Accept\`; JSON where the client does not say. Its proto files are in the repository of the service. The schemas show what is written: 64-bit integers are strings, enums are names, instants are RFC 3339. Readers take all of ProtoJSON, and refuse names that they do not know.

**Compression.** A body may come in gzip, and large responses go out in it to clients that accept it.

**Problems.** Everything that goes wrong is answered with problem details (RFC 9457) and one of a closed set of codes. An unknown path is 404 \`not_found\`; a path that knows other methods is 405 \`method_not_allowed\`, with \`Allow\`. \`HEAD\` is answered like \`GET\`, without the body.

**Growth.** Later versions may add paths, parameters, codes and members of responses. What is here stays.`;
