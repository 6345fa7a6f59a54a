import Table from 'cli-table3';

type Row = Readonly<Record<string, string | number>>;

/** Prints rows as a table of plain text, whatever it is printed to: benchmarks are read in files. */
export function printTable(rows: readonly Row[]): void {
  const head = Object.keys(rows[0] ?? {});
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const row of rows) table.push(head.map((name) => row[name] ?? ''));
  console.log(table.toString());
}
