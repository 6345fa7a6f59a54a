/** Relative links of the pages of a package. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Each link that leads to no file, with the page that has it. */
export function brokenLinks(folder: string): readonly string[] {
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.md') && !file.includes('node_modules'),
  );
  return pages.flatMap((page) =>
    [...readFileSync(join(folder, page), 'utf8').matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, href]) => href ?? '')
      .filter((href) => !/^(https?:|#)/.test(href))
      .filter((href) => !existsSync(join(folder, dirname(page), href.split('#', 1)[0] ?? '')))
      .map((href) => `${page}: ${href}`),
  );
}
