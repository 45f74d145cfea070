import { useState } from 'preact/hooks'
import { takeToken } from '../api/rag'
import { Button } from '../parts/button'
import { TextField } from '../parts/field'
import { rag as text } from '../text/rag'
import { start } from './dialogue'

/** Asks for the token of a server that wants one. It stays in memory. */
export function TokenForm({ wrong }: { wrong: boolean }) {
  const [token, setToken] = useState('')
  return (
    <form
      class="rag-token"
      onSubmit={(event) => {
        event.preventDefault()
        takeToken(token.trim())
        void start()
      }}
    >
      <h2>{text.tokenTitle}</h2>
      <p class="muted">{text.tokenText}</p>
      <TextField label={text.token} type="password" value={token} onText={setToken} autocomplete="off" required error={wrong ? text.wrongToken : null} />
      <Button kind="main" type="submit" disabled={!token.trim()}>
        {text.useToken}
      </Button>
    </form>
  )
}
