/** The events' contract, as a check: the schemas of docs/events, and that they name every field that is sent. */
import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const FOLDER = new URL('../../../docs/events/', import.meta.url);

type Json = Record<string, unknown>;

const schemas = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.schema.json'))
  .map((file) => JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Json & { $id: string });

const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false, strictTypes: false });
addFormats.default(ajv);
for (const schema of schemas) ajv.addSchema(closed(schema) as Json);

/** Detail types that have a schema. */
export const documentedTypes: readonly string[] = schemas
  .map((schema) => (schema.properties as { 'detail-type'?: { const: string } })['detail-type']?.const)
  .filter((type) => type !== undefined);

/** What is wrong with a whole event by the schema of its type; empty where nothing is. */
export function eventFaults(event: unknown): readonly string[] {
  const type = String((event as Json)['detail-type']);
  const validate = ajv.getSchema(`${type.toLowerCase().replaceAll(' ', '-')}.schema.json`);
  if (validate === undefined) return [`The type ${type} has no schema.`];
  if (validate(event) === true) return [];
  return (validate.errors ?? []).map((e) => `${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`);
}

/** A field that no schema names is one that the documentation has forgotten. */
function closed(schema: unknown, narrowing = false): unknown {
  if (Array.isArray(schema)) return schema.map((item) => closed(item, narrowing));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { properties, ...rest } = schema as Json;
  const inner = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, closed(value, key === 'allOf')]),
  );
  if (properties === undefined) return inner;
  const fields = Object.fromEntries(
    Object.entries(properties as Json).map(([name, value]) => [name, closed(value)]),
  );
  return { ...inner, properties: fields, ...(narrowing ? {} : { additionalProperties: false }) };
}
