/** The tables of docs/deploy.md, from what they tell of. */
import type { Template } from 'aws-cdk-lib/assertions';
import { SETTINGS } from './settings.ts';

/** Sections of the document, by the name in its comments. */
export function referenceTables(
  template: Template,
): Readonly<Record<'settings' | 'outputs' | 'alarms', string>> {
  const outputs = Object.entries(template.toJSON().Outputs as Record<string, { Description: string }>);
  const alarms = Object.values(template.findResources('AWS::CloudWatch::Alarm')).map(({ Properties }) => [
    `\`${String(Properties.AlarmName).split('-').at(-1)}\``,
    String(Properties.AlarmDescription),
  ]);
  return {
    settings: table(
      ['setting', 'default', 'meaning'],
      Object.entries(SETTINGS).map(([name, setting]) => [
        `\`${name}\``,
        setting.default === '' ? '' : `\`${setting.default}\``,
        setting.meaning,
      ]),
    ),
    outputs: table(
      ['output', 'what it is'],
      outputs
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, { Description }]) => [`\`${name}\``, Description]),
    ),
    alarms: table(['alarm', 'what it means, and where to look'], alarms),
  };
}

/** Markdown, each cell as wide as its column. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, i) =>
    Math.max(...[name, ...rows.map((row) => row[i] ?? '')].map(({ length }) => length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, i) => (cells[i] ?? '').padEnd(width)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

/** The document with its sections put in. */
export function withSections(document: string, sections: Readonly<Record<string, string>>): string {
  return Object.entries(sections).reduce((text, [name, section]) => {
    const pattern = new RegExp(`(<!-- ${name} -->\\n)[^]*?(<!-- /${name} -->)`);
    if (!pattern.test(text)) throw new Error(`The document has no section ${name}.`);
    return text.replace(pattern, (_, open: string, close: string) => `${open}\n${section}\n\n${close}`);
  }, document);
}
