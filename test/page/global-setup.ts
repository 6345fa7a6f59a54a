import { writePage } from '../../functions/page/build.ts';
import { chromiumPath } from './browser.ts';

/** Builds the page that is tested, and says so if nothing can test it. */
export default async function setup(): Promise<void> {
  await writePage();
  if (chromiumPath === undefined) {
    process.stderr.write(
      'SKIPPED: no chromium is installed (apt-get install chromium), so the page is not tested.\n',
    );
  }
}
