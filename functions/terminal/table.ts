/** Tables for people: aligned columns without lines, as kubectl prints them. */
import CliTable from 'cli-table3';
import { printable } from './printable.ts';

const NO_LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/** A column's head; numbers stand to the right. */
export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** Lines of a table with its heads. Values from outside cannot break out of their cell. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const drawn = new CliTable({
    head: columns.map((c) => c.title),
    colAligns: columns.map((c) => c.align ?? 'left'),
    chars: NO_LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  drawn.push(...rows.map((row) => row.map(printable)));
  return drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}
