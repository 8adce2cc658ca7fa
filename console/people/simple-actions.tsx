import type { TadaDocumentNode } from 'gql.tada';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import type { PersonActionProps } from './managed-person.ts';
import { peopleTexts } from './texts.ts';

const END = graphql(`mutation EndUserSessions($input: EndUserSessionsInput!) {
  endUserSessions(input: $input) { __typename }
}`);
const RESET = graphql(`mutation ResetSecondFactor($input: ResetSecondFactorInput!) {
  resetSecondFactor(input: $input) { __typename }
}`);
const UNLOCK = graphql(`mutation UnlockUser($input: UnlockUserInput!) {
  unlockUser(input: $input) { __typename }
}`);

type Key = 'endSessions' | 'resetSecondFactor' | 'unlock';

/** An action that needs no more than the person. */
const simpleAction = <Data,>(document: TadaDocumentNode<Data, { input: { userId: string } }>, key: Key) =>
  function SimpleAction({ person: { id, email }, onChanged, onClose }: PersonActionProps) {
    const text = useTexts(peopleTexts);
    const notify = useNotices();
    const { run, isBusy, error } = useMutation(document);
    const confirm = async () => {
      if (await run({ input: { userId: id } })) {
        notify(text('done'));
        onChanged();
        onClose();
      }
    };
    return (
      <Confirmation
        title={text(key)}
        action={text(key)}
        isDestructive={key !== 'unlock'}
        isBusy={isBusy}
        error={error}
        onConfirm={() => void confirm()}
        onClose={onClose}
      >
        <p>{text(`${key}Means`, { email })}</p>
      </Confirmation>
    );
  };

export const EndSessions = simpleAction(END, 'endSessions');
export const ResetSecondFactor = simpleAction(RESET, 'resetSecondFactor');
export const UnlockPerson = simpleAction(UNLOCK, 'unlock');
