/** What validation found, as a person reads it: the verdict, then a line for each finding. */
import type { ValidationFinding, ValidationResult } from '../gen/resourcemap/bundle/v1/bundle_pb.ts';
import { printable } from '../terminal/printable.ts';

export function validationLines(name: string, result: ValidationResult): readonly string[] {
  const { errors, warnings, advice, etag } = result;
  const verdict = errors.length > 0 ? `invalid, ${counted(errors.length, 'error', 'errors')}` : 'valid';
  const more = [
    ...(warnings.length > 0 ? [counted(warnings.length, 'warning', 'warnings')] : []),
    ...(advice.length > 0 ? [`${advice.length} advice`] : []),
  ];
  return [
    printable(`${name}: ${[verdict, ...more].join(', ')}`),
    ...findingLines('error', errors),
    ...findingLines('warning', warnings),
    ...findingLines('advice', advice),
    ...mapLines(etag),
  ];
}

export function findingLines(severity: string, findings: readonly ValidationFinding[]): readonly string[] {
  return findings.map(({ code, message }) => printable(`  ${severity} ${code}: ${message}`));
}

/** Which map a response is about, where it is about one. */
export function mapLines(etag: string): readonly string[] {
  return etag === '' ? [] : [printable(`map ${etag}`)];
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
