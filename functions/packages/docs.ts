/** A package's README, and the pages that it leads to. */
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';

const LINK = /(!?)\[([^\]]*)\]\(([^)\s]+)\)/g;

/**
 * Copies the README and every page and picture that it leads to, so that links work from the tarball. A link to
 * what is in the repository alone becomes its text.
 *
 * @param root of the repository
 * @param readme the README's source, beside this module
 */
export async function copyDocs(root: string, to: string, readme: string): Promise<void> {
  const waiting: { readonly source: string; readonly target: string }[] = [
    { source: join(root, 'functions/packages', readme), target: 'README.md' },
  ];
  const seen = new Set<string>();
  for (let page = waiting.pop(); page !== undefined; page = waiting.pop()) {
    const { source, target } = page;
    await mkdir(dirname(join(to, target)), { recursive: true });
    if (!target.endsWith('.md')) {
      await cp(source, join(to, target));
      continue;
    }
    const text = (await readFile(source, 'utf8')).replace(LINK, (whole, picture, title, href: string) => {
      if (/^(https?:|#)/.test(href)) return whole;
      const path = normalize(join(dirname(target), href.split('#', 1)[0] ?? ''));
      const isShipped = path.startsWith('docs/') && existsSync(join(root, path));
      if (!isShipped || (picture === '' && !/\.\w+$/.test(path))) return String(title);
      if (!seen.has(path)) {
        seen.add(path);
        waiting.push({ source: join(root, path), target: path });
      }
      return whole;
    });
    await writeFile(join(to, target), text);
  }
}
