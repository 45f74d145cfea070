import type { SignedOut } from '../../api/session'
import drawings from '../../look/drawings.json'
import { Banner } from '../../parts/banner'
import { Mark } from '../../parts/icon'
import { CodeText } from '../../parts/code-text'
import { shell } from '../../text/shell'
import { signIn as text } from '../../text/sign-in'
import { SignInForm } from './form'

/** The page for signing in, or the reason why that is not possible here. */
export default function SignIn({ session }: { session: SignedOut }) {
  return (
    <div class="sign-in">
      <main class="sign-in-box" id="content">
        <header class="sign-in-head">
          <Mark size={48} />
          <div>
            <h1>{shell.product}</h1>
            <p class="muted">
              {location.host} · {session.server.name}
            </p>
          </div>
        </header>
        {session.problem ? <Impossible problem={session.problem} /> : <SignInForm browser={session.browser_sign_in === true} />}
      </main>
      <Tiers />
    </div>
  )
}

function Impossible({ problem }: { problem: NonNullable<SignedOut['problem']> }) {
  const https = problem === 'https_required'
  return (
    <div class="sign-in-impossible">
      <Banner kind="warn" title={https ? text.httpsTitle : text.urlTitle}>
        {https ? text.httpsText : text.urlText}
      </Banner>
      <p>{https ? text.httpsHow : text.urlHow}</p>
      <CodeText text={`http:\n  public_url: https://${location.hostname}`} language="plain" />
    </div>
  )
}

/** The foot of the page: the tiers of a tower. */
const Tiers = () => (
  <svg class="sign-in-tiers" viewBox="0 0 1200 200" preserveAspectRatio="xMidYMax slice" aria-hidden="true" focusable="false">
    <path class="tier" d={drawings.tier} />
    <path class="stair" d={drawings.stair} />
  </svg>
)
