/** The cloud assembly that `cdk synth` makes, and what the tests need of it: nothing is taken from the code beside it. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../../infra/bundling.ts';

export interface Resource {
  readonly Type: string;
  readonly Properties: Readonly<Record<string, unknown>>;
}

export interface Assembly {
  readonly folder: string;
  readonly stackName: string;
  readonly resources: ReadonlyMap<string, Resource>;
  /** The folder of an asset, by the hash that the template names it by. */
  assetFolder(hash: string): string;
}

/**
 * Synthesises with the real command line, in a process of its own.
 *
 * @param context as `-c` takes it
 */
export async function synthesiseApp(
  folder: string,
  context: Readonly<Record<string, string>>,
): Promise<Assembly> {
  const flags = Object.entries(context).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  await promisify(execFile)(
    process.execPath,
    [
      join(ROOT, 'node_modules/aws-cdk/bin/cdk'),
      'synth',
      '--quiet',
      '--no-notices',
      '--output',
      folder,
      ...flags,
    ],
    { cwd: ROOT, timeout: 300_000 },
  );
  const stackName = `ResourceMap-${context.stage ?? 'dev'}`;
  const read = async (file: string) => JSON.parse(await readFile(join(folder, file), 'utf8'));
  const template = (await read(`${stackName}.template.json`)) as { Resources: Record<string, Resource> };
  const assets = (await read(`${stackName}.assets.json`)) as {
    files: Record<string, { source: { path: string } }>;
  };
  return {
    folder,
    stackName,
    resources: new Map(Object.entries(template.Resources)),
    assetFolder: (hash) => {
      const asset = assets.files[hash];
      if (asset === undefined)
        throw new Error(`The template names an asset ${hash} that the assembly has not.`);
      return join(folder, asset.source.path);
    },
  };
}

/** All resources of a type, by logical id. */
export function resourcesOf(assembly: Assembly, type: string): readonly (readonly [string, Resource])[] {
  return [...assembly.resources].filter(([, resource]) => resource.Type === type);
}

/** @throws Error where there is none of the type, or more than one */
export function onlyResource(assembly: Assembly, type: string): Resource {
  const [first, ...more] = resourcesOf(assembly, type);
  if (first === undefined || more.length > 0) throw new Error(`The template has not exactly one ${type}.`);
  return first[1];
}

/** What the parts of a deployed stack are called: `Ref` and `Fn::GetAtt` by logical id. */
export interface Physical {
  ref(logicalId: string): string;
  attribute(logicalId: string, attribute: string): string;
}

/** A property with its references put in, as CloudFormation does. */
export function resolve(value: unknown, physical: Physical): unknown {
  if (Array.isArray(value)) return value.map((each) => resolve(each, physical));
  if (typeof value !== 'object' || value === null) return value;
  const [[key, operand] = ['', undefined], ...more] = Object.entries(value);
  if (more.length === 0) {
    if (key === 'Ref') return physical.ref(operand as string);
    if (key === 'Fn::GetAtt') return physical.attribute(...(operand as [string, string]));
    if (key === 'Fn::Join') {
      const [separator, parts] = operand as [string, readonly unknown[]];
      return parts.map((part) => String(resolve(part, physical))).join(separator);
    }
  }
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolve(each, physical)]));
}
