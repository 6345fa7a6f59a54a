/**
 * Where the first admin's token goes: to a terminal, which somebody looks at, or to a file that only
 * its owner reads. Whatever else standard output is, a log collector keeps it for long and for many.
 */
import { chmodSync, closeSync, existsSync, openSync, unlinkSync, writeSync } from 'node:fs';

const OWNER_ALONE = 0o600;

/** A file that can be written, opened before there is a token that could be lost. */
export class TokenFile {
  readonly #fd: number;
  readonly #isNew: boolean;

  /** @throws Error of the file system */
  constructor(readonly path: string) {
    this.#isNew = !existsSync(path);
    this.#fd = openSync(path, 'a', OWNER_ALONE);
    chmodSync(path, OWNER_ALONE);
  }

  write(token: string): void {
    writeSync(this.#fd, `${token}\n`);
    closeSync(this.#fd);
  }

  /** There is no new token: an older one in the file stays. */
  leave(): void {
    closeSync(this.#fd);
    if (this.#isNew) unlinkSync(this.path);
  }
}
