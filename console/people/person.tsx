import { Link } from 'wouter';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { SessionTable } from '../session/session-table.tsx';
import { useTexts } from '../texts/texts.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { Problem } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { secondFactorOf } from './managed-person.ts';
import { Memberships } from './memberships.tsx';
import { PersonActions } from './person-actions.tsx';
import { peopleTexts } from './texts.ts';

const PERSON = graphql(`query Person($id: ID!) {
  user(id: $id) {
    id name email isRootAdmin isVerified isRemovable ssoType hasSecondFactor isSecondFactorRequired invitedUntil projectCount brokerCount createdAt
    identities { provider subject checkedAt }
    memberships(first: 100) {
      totalCount
      nodes { createdAt role project { id name } }
    }
  }
  userSessions(userId: $id) { id address createdAt lastUsedAt provider isCurrent }
}`);

/** Others may sign in meanwhile, so the sessions are read again. */
const SESSIONS_MS = 5_000;

export function Person({ id }: { readonly id: string }) {
  const text = useTexts(peopleTexts);
  const { data, error, renew } = useQuery(PERSON, { id }, SESSIONS_MS);
  if (data === null) return <Problem error={error} />;
  const { user, userSessions: sessions } = data;
  if (user === null) return <p role="alert">{text('unknownPerson')}</p>;
  return (
    <>
      <p>
        <Link href="/people">{text('allPeople')}</Link>
      </p>
      <header className="screen">
        <PageHeading>{user.name}</PageHeading>
        <span className="quiet">{user.email}</span>
        <CopyAs document={PERSON} variables={{ id }} />
      </header>
      <dl>
        <dt>{text('role')}</dt>
        <dd>{text(user.isRootAdmin ? 'rootAdministrator' : 'person')}</dd>
        <dt>{text('isVerified')}</dt>
        <dd>{text(user.isVerified ? 'yes' : 'no')}</dd>
        <dt>{text('signsInBy')}</dt>
        <dd>{user.ssoType ?? text('password')}</dd>
        {user.identities?.map(({ provider, subject, checkedAt }) => [
          <dt key={`${subject} term`}>{text('identity', { provider })}</dt>,
          <dd key={subject}>
            {subject} (<Time at={checkedAt} />)
          </dd>,
        ])}
        <dt>{text('secondFactor')}</dt>
        <dd>{text(secondFactorOf(user))}</dd>
        {user.invitedUntil && (
          <>
            <dt>{text('invitedUntil')}</dt>
            <dd>
              <Time at={user.invitedUntil} />
            </dd>
          </>
        )}
        <dt>{text('ownProjects')}</dt>
        <dd>{text('projectsWithBrokers', { projects: user.projectCount ?? 0, brokers: user.brokerCount ?? 0 })}</dd>
        <dt>{text('created')}</dt>
        <dd>
          <Time at={user.createdAt} />
        </dd>
      </dl>
      <PersonActions person={user} sessionCount={sessions.length} onChanged={renew} />
      <h2>{text('memberships')}</h2>
      {user.isRootAdmin && <p className="quiet">{text('rootIsMember')}</p>}
      {user.memberships && <Memberships memberships={user.memberships} />}
      <h2>{text('sessions')}</h2>
      {sessions.length === 0 ? (
        <p>{text('noSessions')}</p>
      ) : (
        <SessionTable label={text('sessions')} sessions={sessions} onEnded={renew} />
      )}
    </>
  );
}
