/** Checks answers of the service against its OpenAPI document, and remembers which of them were seen. */
import { createRegistry, type DescMessage, fromBinary } from '@bufbuild/protobuf';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import { file_resourcemap_bundle_v1_bundle } from '../../functions/gen/resourcemap/bundle/v1/bundle_pb.ts';
import { file_resourcemap_bundle_v1_live } from '../../functions/gen/resourcemap/bundle/v1/live_pb.ts';
import { file_resourcemap_bundle_v1_plan } from '../../functions/gen/resourcemap/bundle/v1/plan_pb.ts';
import { file_resourcemap_bundle_v1_pool } from '../../functions/gen/resourcemap/bundle/v1/pool_pb.ts';
import { file_resourcemap_v1_access } from '../../functions/gen/resourcemap/v1/access_pb.ts';
import { file_resourcemap_v1_capacity } from '../../functions/gen/resourcemap/v1/capacity_pb.ts';
import { file_resourcemap_v1_claims } from '../../functions/gen/resourcemap/v1/claims_pb.ts';
import { file_resourcemap_v1_resource_map } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { file_resourcemap_v1_service } from '../../functions/gen/resourcemap/v1/service_pb.ts';
import { compileSchema, type Json, schemaFaults } from './schema-faults.ts';

/** A response, however it was got. */
export interface OperationResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

interface Response {
  readonly headers?: Readonly<Record<string, Header>>;
  readonly content?: Readonly<
    Record<string, { readonly schema?: Json; readonly 'x-protobuf-message'?: string }>
  >;
}
interface Header {
  readonly required?: boolean;
  readonly schema: Json;
}
interface Operation {
  readonly responses: Readonly<Record<string, Json>>;
  readonly requestBody?: {
    readonly content: Readonly<
      Record<string, { readonly example?: unknown; readonly 'x-protobuf-message'?: string }>
    >;
  };
}

/** The document as it is served. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Json };
}

const MESSAGES = createRegistry(
  file_resourcemap_bundle_v1_bundle,
  file_resourcemap_bundle_v1_live,
  file_resourcemap_bundle_v1_plan,
  file_resourcemap_bundle_v1_pool,
  file_resourcemap_v1_access,
  file_resourcemap_v1_capacity,
  file_resourcemap_v1_claims,
  file_resourcemap_v1_resource_map,
  file_resourcemap_v1_service,
);

/** Of the connection, and of every response that has a body. */
const OF_HTTP = new Set([
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
]);

export class DescribedService {
  /** What is described, as `GET /v1/map 304` and `GET /v1/map invalid_query`. */
  readonly described: ReadonlySet<string>;
  readonly #seen = new Set<string>();
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #closed: Json;

  constructor(readonly document: Document) {
    this.#closed = closed(document.components.schemas);
    this.described = new Set(
      this.operations.flatMap((name) =>
        Object.keys(this.operation(name).responses).flatMap((status) =>
          Number(status) < 400
            ? `${name} ${status}`
            : this.codes(name, status).map((code) => `${name} ${code}`),
        ),
      ),
    );
  }

  /** Names of all operations: `GET /v1/map`. */
  get operations(): readonly string[] {
    return Object.entries(this.document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
  }

  /** Described responses that were never given. */
  get unseen(): readonly string[] {
    return [...this.described].filter((each) => !this.#seen.has(each));
  }

  operation(name: string): Operation {
    const [method = '', path = ''] = name.split(' ');
    const operation = this.document.paths[path]?.[method.toLowerCase()];
    if (operation === undefined) throw new Error(`${name} is not in the document.`);
    return operation;
  }

  /** The message of a request. */
  requestMessage(name: string): DescMessage {
    const message =
      this.operation(name).requestBody?.content['application/x-protobuf']?.['x-protobuf-message'];
    return messageNamed(message ?? '');
  }

  /** Problem codes of an operation, of one status or of all. */
  codes(name: string, onlyStatus?: string): readonly string[] {
    return Object.keys(this.operation(name).responses)
      .filter((status) => Number(status) >= 400 && (onlyStatus ?? status) === status)
      .flatMap((status) => {
        const schema = this.#response(name, status)?.content?.['application/problem+json']?.schema as {
          allOf: [unknown, { properties: { code: { enum: string[] } } }];
        };
        return schema.allOf[1].properties.code.enum;
      });
  }

  /**
   * Checks status, media type, headers and body. Fails the test that calls it where the document
   * does not say so.
   *
   * @returns the body: parsed where it is JSON
   */
  check(name: string, { status, headers, body }: OperationResponse): Json {
    const response = this.#response(name, String(status));
    const text = Buffer.from(body).toString('utf8');
    expect(
      response,
      `${name} answers ${status}, which is not described: ${text.slice(0, 300)}`,
    ).toBeDefined();
    expect(this.#headerFaults(response ?? {}, headers), `headers of ${name} ${status}`).toEqual([]);
    if (response?.content === undefined) {
      expect(text, `body of ${name} ${status}`).toBe('');
      this.#seen.add(`${name} ${status}`);
      return {};
    }
    const type = headers.get('content-type') ?? '';
    const described = response.content[type];
    expect(described, `${name} ${status} is ${type}, which is not described`).toBeDefined();
    const message = described?.['x-protobuf-message'];
    if (message !== undefined) {
      expect(
        fromBinary(messageNamed(message), body).$unknown,
        `unknown fields of ${name} ${status}`,
      ).toBeUndefined();
      this.#seen.add(`${name} ${status}`);
      return {};
    }
    const json = JSON.parse(text) as Json;
    expect(schemaFaults(this.#validator(described?.schema ?? {}), json), `body of ${name} ${status}`).toEqual(
      [],
    );
    this.#seen.add(status < 400 ? `${name} ${status}` : `${name} ${json.code}`);
    return json;
  }

  #response(name: string, status: string): Response | undefined {
    const response = this.operation(name).responses[status];
    return response === undefined ? undefined : (this.#resolve(response) as Response);
  }

  #headerFaults(response: Response, headers: Headers): readonly string[] {
    const described = new Map(
      Object.entries(response.headers ?? {}).map(([name, header]) => [
        name.toLowerCase(),
        this.#resolve(header as unknown as Json) as unknown as Header,
      ]),
    );
    const undescribed = [...headers.keys()].filter((name) => !described.has(name) && !OF_HTTP.has(name));
    return [
      ...undescribed.map((name) => `${name} is not described`),
      ...[...described].flatMap(([name, { required, schema }]) => {
        const value = headers.get(name);
        if (value === null) return required === true ? [`${name} is missing`] : [];
        return schemaFaults(this.#validator(schema), value).map((fault) => `${name}: ${value}${fault}`);
      }),
    ];
  }

  #resolve(value: Json): Json {
    if (typeof value.$ref !== 'string') return value;
    let found: unknown = this.document;
    for (const part of value.$ref.slice(2).split('/')) found = (found as Json)[part];
    return found as Json;
  }

  #validator(schema: Json): ValidateFunction {
    const key = JSON.stringify(schema);
    const known = this.#validators.get(key);
    if (known !== undefined) return known;
    const validate = compileSchema(schema, this.#closed);
    this.#validators.set(key, validate);
    return validate;
  }
}

function messageNamed(name: string): DescMessage {
  const message = MESSAGES.getMessage(name);
  if (message === undefined) throw new Error(`There is no message ${name}.`);
  return message;
}

/** Answers may grow, and then the document must: today a member that it does not name is one that it has forgotten. */
function closed(schemas: Json): Json {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      'properties' in (schema as Json) ? { additionalProperties: false, ...(schema as Json) } : schema,
    ]),
  );
}
