/** The pods of a shape as options, for `fit` and `claim create`. */
import { type Command, InvalidArgumentError } from 'commander';
import { UsageError } from './failure.ts';

export interface PodOptions {
  readonly pods?: readonly number[];
  readonly chains?: number;
  readonly sameFabric: boolean;
  readonly sameZone: boolean;
  readonly maxPrice?: string;
}

export function withPodOptions(command: Command): Command {
  return command
    .option('--pods <counts>', 'accelerators of each pod of one chain, such as 8,8', parseCounts)
    .option('--chains <number>', 'how many such chains; 1 if not given', parseCount)
    .option('--same-fabric', 'the pods of a chain share a fabric', false)
    .option('--same-zone', 'the pods of a chain share a zone', false)
    .option('--max-price <price>', 'only nodes of at most this price per hour, such as "55.04 USD"');
}

/** @throws UsageError */
export function priceOf(text: string): { readonly currencyCode: string; readonly decimalAmount: string } {
  const [, decimalAmount, currencyCode] = /^(\d+(?:\.\d+)?) ?([A-Z]{3})$/.exec(text) ?? [];
  if (decimalAmount === undefined || currencyCode === undefined) {
    throw new UsageError(`--max-price is ${JSON.stringify(text)}; write it such as "55.04 USD".`);
  }
  return { currencyCode, decimalAmount };
}

function parseCount(value: string): number {
  if (isCount(value)) return Number(value);
  throw new InvalidArgumentError('It is an integer of at least 1.');
}

function parseCounts(value: string): readonly number[] {
  const counts = value.split(',').map((count) => count.trim());
  if (counts.every(isCount)) return counts.map(Number);
  throw new InvalidArgumentError(
    'It is the accelerators of each pod, each an integer of at least 1, with commas between, such as 8,8.',
  );
}

/** Whether it is a uint32 other than 0. */
function isCount(value: string): boolean {
  return /^\d+$/.test(value) && Number(value) >= 1 && Number(value) <= 4_294_967_295;
}
