import type { OutputFields } from './builder.ts';

/** The field of a connection with the number of entries on all pages. */
export const totalCount = <Page extends { readonly totalCount: number }>(
  t: OutputFields<Page>,
  description = 'Number of entries in the whole list.',
) => ({ totalCount: t.int({ description, resolve: (page) => page.totalCount }) });
