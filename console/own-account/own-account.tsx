import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { SessionTable } from '../session/session-table.tsx';
import { useTexts } from '../texts/texts.ts';
import { PageHeading } from '../ui/page-heading.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { OwnName } from './own-name.tsx';
import { OwnPassword } from './own-password.tsx';
import { SecondFactor } from './second-factor.tsx';
import { ownAccountTexts } from './texts.ts';

const OWN = graphql(`query OwnAccount {
  viewer {
    isRootAdmin
    recoveryCodesLeft
    user { id name email ssoType hasSecondFactor }
    sessions { id address createdAt lastUsedAt provider isCurrent }
  }
}`);

const END_OTHERS = graphql(`mutation EndOtherSessions { endOtherSessions { __typename } }`);

/** What people change about their own account. */
export function OwnAccount() {
  const text = useTexts(ownAccountTexts);
  const { data, error, renew } = useQuery(OWN, {});
  const endOthers = useMutation(END_OTHERS);
  if (data === null) return <Problem error={error} />;
  const { user, sessions, isRootAdmin, recoveryCodesLeft } = data.viewer;
  const hasOthers = sessions.some(({ isCurrent }) => !isCurrent);
  const runEndOthers = async () => {
    if (await endOthers.run({})) renew();
  };
  return (
    <>
      <PageHeading>{text('ownAccount')}</PageHeading>
      {user && (
        <>
          <OwnName user={user} canChange={isRootAdmin} onChanged={renew} />
          {user.ssoType === null ? (
            <>
              <OwnPassword hasSecondFactor={user.hasSecondFactor === true} onChanged={renew} />
              <SecondFactor
                isActive={user.hasSecondFactor === true}
                recoveryCodesLeft={recoveryCodesLeft}
                onChanged={renew}
              />
            </>
          ) : (
            <p className="note">{text('externalAccount', { provider: user.ssoType })}</p>
          )}
        </>
      )}
      <h2>{text('ownSessions')}</h2>
      <SessionTable label={text('ownSessions')} sessions={sessions} onEnded={renew} />
      <Refusal error={endOthers.error} />
      {hasOthers && (
        <p>
          <button type="button" className="danger" disabled={endOthers.isBusy} onClick={() => void runEndOthers()}>
            {text('endOthers')}
          </button>
        </p>
      )}
    </>
  );
}
