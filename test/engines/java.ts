/** The Java that DynamoDB Local needs. */
import { spawnSync } from 'node:child_process';

const MIN_JAVA = 17;

/** Why DynamoDB Local cannot run here, or undefined. */
export function javaIsMissing(): string | undefined {
  const { error, stderr, stdout } = spawnSync('java', ['-version'], { encoding: 'utf8' });
  if (error !== undefined) return 'there is no java on the PATH';
  const version = /version "(\d+)/.exec(`${stderr}${stdout}`)?.[1];
  return Number(version) >= MIN_JAVA
    ? undefined
    : `java is version ${version ?? 'unknown'}, and it needs ${MIN_JAVA}`;
}
