/** Checks of JSON by the schemas of an OpenAPI document. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export type Json = Readonly<Record<string, unknown>>;

/** @param components to which the schema refers as `#/components/schemas/…` */
export function compileSchema(schema: Json, components: Json): ValidateFunction {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
  addFormats.default(ajv);
  // Of OpenAPI, and not of JSON Schema.
  ajv.addVocabulary(['components', 'example']);
  return ajv.compile({ ...schema, components: { schemas: components } });
}

/** What is wrong with it, each with its place; empty where nothing is. */
export function schemaFaults(validate: ValidateFunction, json: unknown): readonly string[] {
  if (validate(json) === true) return [];
  return (validate.errors ?? []).map((e) => `${e.instancePath} ${e.message}`);
}
