import { catalogue } from '../texts/texts.ts';

export const tableTexts = catalogue('ui/table', {
  view: 'Columns and rows',
  columns: 'Columns',
  compact: 'Compact rows',
});
