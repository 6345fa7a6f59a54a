/** Examples in declarations: that there are some, and as programs that compile. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the examples take for given. */
const GIVEN = `
declare const client: import('@resource-map/client').Client;
declare const replica: import('@resource-map/client').MapReplica;
declare const snapshot: import('@resource-map/client').ClusterResourceMap;
declare const held: import('@resource-map/client').HeldClaim;
declare const request: import('@resource-map/client').ClaimInit;
declare const bundle: import('@resource-map/client/bundle').Bundle;
declare const id: string;
declare const adminToken: string;
declare function readToken(): Promise<string>;
declare function createPods(): void;
`;

/** Each example of a declaration file as a module that declares what it takes for given. */
export function examplesOf(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/\* @example\n\s*\* ```ts\n(.*?)\n\s*\* ```/gs)].map(([, block]) => {
    const code = (block ?? '').replaceAll(/^\s*\* ?/gm, '');
    const given = GIVEN.split('\n').filter((line) => {
      const name = /declare (?:const|function) (\w+)/.exec(line)?.[1];
      return name !== undefined && !new RegExp(`(const|let) (\\{ )?${name}\\b`).test(code);
    });
    return `${code}\n${given.join('\n')}\nexport {};\n`;
  });
}

/** Functions, classes and constants that an entry point exports without an example; messages and enums need none. */
export async function undocumentedExports(folder: string, entry: string): Promise<readonly string[]> {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string }>>;
  };
  const paths = exports[entry === 'index' ? '.' : `./${entry}`];
  if (paths === undefined) throw new Error(`The package has no ${entry}.`);
  const module = (await import(join(folder, paths.default))) as Readonly<Record<string, unknown>>;
  const declared = declarationsFrom(join(folder, paths.types), new Set());
  return Object.keys(module).filter((name) => {
    if (name.endsWith('Schema') || new RegExp(`export declare enum ${name}\\b`).test(declared)) return false;
    const at = declared.search(
      new RegExp(`export declare (?:async )?(?:function\\*?|class|const|abstract class) ${name}\\b`),
    );
    const before = declared.slice(0, Math.max(at, 0));
    const comment = before.slice(before.lastIndexOf('/**'));
    return at < 0 || !comment.includes('@example') || /\*\/\s*\S/.test(comment);
  });
}

function declarationsFrom(file: string, seen: Set<string>): string {
  if (seen.has(file)) return '';
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  const others = [...text.matchAll(/from ['"](\.[^'"]+)\.js['"]/g)].map(([, path]) =>
    declarationsFrom(join(file, '..', `${path}.d.ts`), seen),
  );
  return [text, ...others].join('\n');
}
