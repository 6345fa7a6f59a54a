/** The page as it was built: each file compressed already. */

export interface PageAsset {
  readonly path: string;
  readonly contentType: string;
  /** Of the file before compression. */
  readonly etag: string;
  /** Base64. */
  readonly gzip: string;
  readonly brotli: string;
}

export interface PageAssets {
  readonly html: PageAsset;
  /** What the HTML names, under names that change with their content. */
  readonly named: readonly PageAsset[];
}
