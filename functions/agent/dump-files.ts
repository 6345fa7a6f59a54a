/** Objects from files, as `kubectl get … -o json` and `-o yaml` write them. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

/** A dump cannot be read. */
export class DumpError extends Error {
  override readonly name = 'DumpError';
}

/** Every document of every file; of a folder, its `.json`, `.yaml` and `.yml` files. @throws DumpError */
export function readDumpFiles(paths: readonly string[]): readonly unknown[] {
  return paths.flatMap(filesOf).flatMap(documentsOf);
}

function filesOf(path: string): readonly string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    const names = readdirSync(path).filter((name) => /\.(?:json|ya?ml)$/.test(name));
    if (names.length === 0) throw new DumpError(`${path} has no .json, .yaml or .yml file.`);
    return names.sort().map((name) => join(path, name));
  } catch (cause) {
    if (cause instanceof DumpError) throw cause;
    throw new DumpError(`${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

function documentsOf(file: string): readonly unknown[] {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new DumpError(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  if (/^\s*[{[]/.test(content)) {
    try {
      return [JSON.parse(content)];
    } catch (cause) {
      throw new DumpError(`${file} is not JSON: ${(cause as Error).message}`, { cause });
    }
  }
  return parseAllDocuments(content, { logLevel: 'silent' }).map((document) => {
    const [fault] = document.errors;
    if (fault !== undefined) throw new DumpError(`${file} is not YAML: ${fault.message.split('\n')[0]}`);
    return document.toJS({ maxAliasCount: 100 });
  });
}
