/** Faults of a request about bundles: all of them are reported, each with its path, value and remedy. */

import { ResourceMapError } from '../../errors.ts';
import { FindingCollector } from '../../findings.ts';
import { quote } from '../../quote.ts';
import { utf8Length } from '../../utf8-length.ts';
import { MAX_ATTRIBUTES, MAX_NAME_BYTES } from '../model/limits.ts';
import type { Attributes } from '../model/model.ts';

const INVALID_VALUE = { code: 'invalid_value', severity: 'reject' } as const;

/** Gathers the faults of one request. What a reader gives for a faulty value is never used: the request is refused as a whole. */
export class Faults {
  readonly #found = new FindingCollector();

  add(path: string, fault: string): void {
    this.#found.report(
      INVALID_VALUE,
      () => path,
      () => fault,
    );
  }

  /** The list, or none of it where it is too long: what is refused for its length is not read. */
  atMost<T>(path: string, list: readonly T[], limit: number): readonly T[] {
    if (list.length <= limit) return list;
    this.add(path, `There are ${list.length} entries; at most ${limit} are taken.`);
    return [];
  }

  /** One of a closed set of words; what is empty is `absent`, or a fault where nothing is. */
  word<Word extends string>(
    path: string,
    value: string,
    words: readonly [Word, ...Word[]],
    absent?: Word,
  ): Word {
    const known = words.find((word) => word === value);
    if (known !== undefined) return known;
    if (value === '' && absent !== undefined) return absent;
    const allowed = words.map(quote).join(', ');
    this.add(
      path,
      value === '' ? `It is missing; it can be ${allowed}.` : `${quote(value)} is none of ${allowed}.`,
    );
    return words[0];
  }

  /** A finite number of 0 or more. */
  amount(path: string, value: number): number {
    if (!(Number.isFinite(value) && value >= 0)) {
      this.add(path, `${value} is no amount; give a finite number of 0 or more.`);
    }
    return value;
  }

  /** A name that a person can read and a key can hold. */
  name(path: string, value: string): string {
    if (value === '') this.add(path, 'It is empty; it must have a name.');
    else if (CONTROL_CHARACTER.test(value)) {
      this.add(path, `${quote(value)} has a control character; remove it.`);
    }
    return this.label(path, value);
  }

  /** A name that may be empty or odd: what is wrong with it otherwise is for validation to say. */
  label(path: string, value: string): string {
    // A UTF-16 unit is at least one byte, so most names need no counting.
    const bytes = value.length * 3 <= MAX_NAME_BYTES ? 0 : utf8Length(value);
    if (bytes > MAX_NAME_BYTES) {
      this.add(path, `${quote(value)} has ${bytes} bytes; at most ${MAX_NAME_BYTES} are taken.`);
    }
    return value;
  }

  attributes(path: string, attributes: Attributes): Attributes {
    const count = Object.keys(attributes).length;
    if (count > MAX_ATTRIBUTES) {
      this.add(path, `There are ${count} entries; at most ${MAX_ATTRIBUTES} are taken.`);
    }
    return attributes;
  }

  /** @throws ResourceMapError `invalid_bundle_request` where there is any fault */
  throwIfAny(): void {
    const { findings, rejects, omitted } = this.#found.result();
    const [first] = findings;
    if (first === undefined) return;
    const more = rejects > 1 ? ` And ${rejects - 1} more, see findings.` : '';
    throw new ResourceMapError('invalid_bundle_request', `${first.path}: ${first.message}${more}`, {
      findings,
      ...(omitted > 0 ? { omittedFindings: omitted } : {}),
    });
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;
