import { useTexts } from '../texts/texts.ts';
import { accessTexts } from './texts.ts';

interface NamesProps {
  readonly of: { readonly textName: string | null; readonly textDescription: string | null };
}

/** The first two entries of the `<dl>` of an account, a group or a role. */
export function Names({ of: { textName, textDescription } }: NamesProps) {
  const text = useTexts(accessTexts);
  return (
    <>
      <dt>{text('displayName')}</dt>
      <dd>{textName ?? '–'}</dd>
      <dt>{text('description')}</dt>
      <dd>{textDescription ?? '–'}</dd>
    </>
  );
}
