/** The document of the API as its sources give it now. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type OpenApiDocument, openApiDocument } from '../../functions/openapi/document.ts';
import { OPERATIONS } from '../../functions/openapi/operations.ts';
import { protoComments } from '../../functions/openapi/proto-comments.ts';
import { unconnectedApp } from '../local/unconnected-app.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Comments of the proto files, by full name. */
export function commentsOfProto(): ReadonlyMap<string, string> {
  // With its source information, which generated code does not have.
  return protoComments(
    execFileSync(`${ROOT}node_modules/.bin/buf`, ['build', 'proto', '-o', '-'], { cwd: ROOT }),
  );
}

export function makeDocument(): Promise<OpenApiDocument> {
  const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string };
  return openApiDocument({
    routes: unconnectedApp().routes,
    operations: OPERATIONS,
    comments: commentsOfProto(),
    version,
  });
}
