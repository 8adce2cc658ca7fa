import { useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { tokenTexts } from './token-texts.ts';

const ROTATE = graphql(`mutation RotateToken($input: RotateTokenInput!) {
  rotateToken(input: $input) { secret }
}`);

/** In seconds. */
const OVERLAPS = [
  { seconds: 0, key: 'atOnce' },
  { seconds: 3_600, key: 'hour' },
  { seconds: 86_400, key: 'day' },
  { seconds: 604_800, key: 'week' },
  { seconds: 2_592_000, key: 'month' },
] as const;
const HOUR = OVERLAPS[1].seconds;

interface RotateTokenProps {
  readonly token: { readonly id: string; readonly name: string };
  readonly onRotated: (name: string, secret: string) => void;
  readonly onClose: () => void;
}

/** Gives a token a new secret. The previous one remains valid for a while, for programs that use it. */
export function RotateToken({ token: { id, name }, onRotated, onClose }: RotateTokenProps) {
  const text = useTexts(tokenTexts);
  const { run, isBusy, error } = useMutation(ROTATE);
  const [overlapSeconds, setOverlap] = useState<number>(HOUR);
  const rotate = async () => {
    const rotated = await run({ input: { tokenId: id, overlapSeconds } });
    if (rotated !== null) onRotated(name, rotated.rotateToken.secret);
  };
  return (
    <Confirmation
      title={text('rotateOf', { name })}
      action={text('rotate')}
      isBusy={isBusy}
      error={error}
      onConfirm={() => void rotate()}
      onClose={onClose}
    >
      <Field label={text('overlap')}>
        <select value={overlapSeconds} onChange={({ currentTarget: { value } }) => setOverlap(Number(value))}>
          {OVERLAPS.map(({ seconds, key }) => (
            <option key={key} value={seconds}>
              {text(key)}
            </option>
          ))}
        </select>
      </Field>
      <p>{text(overlapSeconds === 0 ? 'endsAtOnce' : 'endsLater')}</p>
    </Confirmation>
  );
}
