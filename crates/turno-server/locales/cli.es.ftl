# Messages of the command line. The attribute `next` of a failure says what the person can do. A cause is a fragment that
# fits after "error: ".

# Failures.

failure-next = qué hacer

# Errors of the operating system.

io-not-found = no existe el archivo o la carpeta
io-permission = permiso denegado
io-exists = el archivo ya existe
io-folder = es una carpeta
io-no-folder = una parte de la ruta no es una carpeta
io-not-utf8 = no es UTF-8
io-full = el disco está lleno
io-read-only = el disco es de solo lectura
io-address-in-use = la dirección está en uso
io-address-unknown = esta máquina no tiene esa dirección
io-refused = conexión rechazada
io-reset = se perdió la conexión
io-timeout = se agotó el tiempo

# Starting.

threads-failed = no se pudieron iniciar los hilos: { $cause }
    .next = revise el límite de procesos (ulimit -u)
signals-failed = no se pueden escuchar las señales: { $cause }
    .next = inícielo de nuevo; si se repite, repórtelo
log-filter = el filtro de log "{ $filter }" no es válido: { $cause }
    .next = use error, warn, info, debug o trace, también por módulo, como en info,turno=debug
traces-failed = no se pudo preparar el envío de trazas: { $cause }
    .next = ponga { $variable } u otlp_endpoint en http://HOST:4318, o quite los dos
traces-client = no se pudo crear el cliente
http-client-failed = no se pudo preparar el uso de HTTP: { $cause }
    .next = revise las variables de proxies y certificados
listen-port-taken = no se puede escuchar en { $address }: la dirección está en uso
    .next = detenga el programa que escucha allí, o elija otro puerto con --listen (el puerto 0 toma uno libre)
listen-permission = no se puede escuchar en { $address }: permiso denegado
    .next = elija un puerto mayor que 1023 con --listen
listen-unknown-address = no se puede escuchar en { $address }: esta máquina no tiene esa dirección
    .next = elija con --listen una dirección de esta máquina; 127.0.0.1:7171 siempre sirve
listen-failed = no se puede escuchar en { $address }: { $cause }
    .next = revise la dirección de --listen o TURNO_LISTEN

# Databases.

database-url = la URL de la base no se puede usar: { $cause }
    .next = use sqlite:RUTA, por ejemplo sqlite:turno.db, o postgres://USUARIO@HOST/BASE
database-url-file = la URL de sqlite no nombra un archivo
    .next = use sqlite:RUTA, por ejemplo sqlite:turno.db, o postgres://USUARIO@HOST/BASE
database-missing = aquí no hay una base: no existe { $path }
    .next = vaya a su carpeta, o nómbrela con --database o TURNO_DATABASE; `turno migrate` crea una nueva
database-created = se creó una base nueva y vacía: { $place }
database-no-folder = no se pudo abrir { $place }: su carpeta no existe
    .next = revise que su carpeta exista y se pueda escribir
database-file = no se pudo abrir { $place }: { $cause }
    .next = revise que su carpeta exista y se pueda escribir
database-server = no se pudo abrir { $place }: { $cause }
    .next = revise que el servidor funcione, y el usuario, la contraseña y la base de la URL
database-tls = no se pudo abrir { $place }: { $cause }
    .next = { $fault ->
        [refused] active TLS en el servidor (ssl = on), o use sslmode=prefer si la red es de confianza
        [unknown_issuer] nombre la autoridad que emitió el certificado del servidor: sslrootcert=ARCHIVO
        [wrong_name] use un host que el certificado nombre, o sslmode=verify-ca
        [expired] renueve el certificado del servidor
        [not_yet_valid] revise los relojes de esta máquina y del servidor
        [client_required] agregue sslcert=ARCHIVO y sslkey=ARCHIVO a la URL de la base
        [client_refused] use un certificado de cliente de la autoridad en la que confía el servidor, y revise sus fechas
        [file] corrija el archivo, o su ruta en la URL de la base
       *[other] revise el certificado del servidor y sus versiones de TLS
    }
database-not-admitted = no se pudo abrir { $place }: { $cause }
    .next = { $tls ->
        [false] revise pg_hba.conf en el servidor; si exige TLS, use sslmode=require
       *[true] { $client ->
            [false] revise pg_hba.conf en el servidor; si exige un certificado de cliente, agregue sslcert=ARCHIVO y sslkey=ARCHIVO
           *[true] revise pg_hba.conf en el servidor, y que el certificado de cliente sea de este usuario
        }
    }
database-schema-old = no se pudo abrir { $place }: su esquema es más viejo que el que necesita este programa
    .next = ejecute `turno migrate` con el mismo --database, o quite --no-migrate
database-schema-new = no se pudo abrir { $place }: su esquema es más nuevo que los que conoce este programa
    .next = instale un turno más nuevo, o abra otra base
database-damaged = no se pudo abrir { $place }: el archivo está dañado
    .next = ponga la última copia en su lugar, y guarde el archivo dañado para analizarlo
database-other-file = no se pudo abrir { $place }: no es una base SQLite
    .next = nombre otro archivo con --database; este queda como está
database-no-create = no se pudo abrir { $place }: este rol no puede crear un esquema
    .next = otorgue create sobre la base a este rol, porque la primera vez Turno crea allí su esquema
database-unknown = no se pudo abrir { $place }: no hay una base { $name }
    .next = créela con `createdb { $name }`, o corrija la base en la URL
refused-unknown = { $cause }
    .next = revise el id; `turno user list` y `turno token list` muestran los que hay
refused-exists = { $cause }
    .next = use `turno user change`, u otro id
refused-last-admin = { $cause }
    .next = agregue otro antes: `turno user add ID --role admin`
refused-invalid = { $cause }
    .next = corríjalo e intente de nuevo
refused-overloaded = { $cause }
    .next = intente de nuevo en un momento
refused-database = { $cause }
    .next = revise que la base funcione y se pueda escribir, e intente de nuevo

# migrate, check, backup, audit.

schema-created = { $place }: creada con el esquema { $wanted }
schema-upgraded = { $place }: actualizada del esquema { $found } al { $wanted }
schema-current = { $place } tiene el esquema { $found }, que es el actual
schema-compatible = { $place } tiene el esquema { $found }; este programa conoce el { $wanted } y puede trabajar con él
schema-missing = { $place } todavía no tiene esquema; este programa necesita el { $wanted }
    .next = ejecute `turno migrate`
schema-old = { $place } tiene el esquema { $found }; este programa necesita el { $wanted }
    .next = ejecute `turno migrate`
schema-new = { $place } tiene el esquema { $found }; este programa necesita el { $wanted }
    .next = use un programa más nuevo
check-step = revisando { $number } de { $total }: { $what }
check-step-done = revisados { $number } de { $total }: { $what }
check-declared = { $place } se trata como restaurada: se saltaron los ids de tareas y las posiciones de eventos del tiempo perdido
check-sound = { $place } cumple todas las invariantes
check-found = { $count ->
        [one] 1 hallazgo
       *[other] { $count } hallazgos
    } en { $place }
    .next = guarde una copia (`turno backup ARCHIVO`, o pg_dump) antes que nada, y reporte los hallazgos
check-repairable = { $count ->
        [one] 1 hallazgo
       *[other] { $count } hallazgos
    } en { $place }
    .next = guarde una copia (`turno backup ARCHIVO`, o pg_dump), y después ejecute `turno check --repair`
check-subject = { $parts }
check-audit = la auditoría
check-queue = cola { $name }
check-key = clave { $name }
check-item = elemento { $name }
check-lane = carril { $name }
check-place = lugar { $name }
check-task = tarea { $name }
check-line = línea { $name }
check-article = artículo { $name }
check-position = posición { $name }
check-token = token { $name }
check-several-heads = { $count } elementos están listos a la vez
check-head-not-first = su cabeza no es su primer elemento
check-several-deliveries = { $count } entregas están en proceso o listas
check-group-size = la entrega con fence { $fence } se entregó con { $size } elementos y tiene { $count }
check-finished-twice = está terminado y sin terminar a la vez
check-no-row = fue aceptado y no está ni sin terminar ni terminado
check-no-contents = está sin terminar y no tiene contenido
check-finished-without-contents = está terminado y no tiene contenido
check-contradiction = su estado se contradice
check-no-error = está agotado y no hay ningún error guardado
check-unreachable = ninguna petición de trabajo puede alcanzarlo
check-sync-doubles = { $count } elementos sin terminar
check-revision-ahead = se entregó la revisión { $handed }, la más nueva es la { $newest }
check-beyond-sequence = { $number } está más allá de la secuencia, que llegó a { $newest }
check-fence-not-newer = el fence { $fence } está en uso, y { $ended } terminó antes
check-overlap = el fence { $fence } empezó el { $began }, y el anterior terminó el { $ended }
check-fence-never-held = el fence { $fence } nunca tuvo la tarea
check-moved-unapplied = se movió stock por una línea que no está aplicada
check-completed-unapplied = la tarea está finalizada y esta línea no está aplicada
check-stock-differs = { $quantity } en stock, los movimientos suman { $moved }; { $serials } números de serie, los movimientos nombran { $named }
check-gap = la posición siguiente es { $next }
check-not-a-hash = el secreto no está guardado como hash
check-repaired = reparado
check-corrected = { $count ->
        [one] 1 elemento corregido
       *[other] { $count } elementos corregidos
    }
check-ended = { $count ->
        [one] 1 entrega terminada
       *[other] { $count } entregas terminadas
    }
check-removed = { $count ->
        [one] 1 fila quitada
       *[other] { $count } filas quitadas
    }
check-restored = { $count ->
        [one] 1 elemento recuperado
       *[other] { $count } elementos recuperados
    }
check-merged = { $count ->
        [one] 1 elemento fusionado
       *[other] { $count } elementos fusionados
    }
backup-postgres = { $place } es una base PostgreSQL, que tiene sus propias herramientas para copias
    .next = use pg_dump, por ejemplo: pg_dump --format=custom --schema=turno --file=turno.dump BASE
backup-failed = { $cause }
    .next = nombre un archivo que no exista todavía, en una carpeta que se pueda escribir
backup-done = se copió { $place } a { $file }
audit-none = ninguna entrada de la auditoría coincide
audit-entries = entradas
audit-intact = la auditoría de { $count ->
        [one] 1 entrada
       *[other] { $count } entradas
    } está íntegra; guarde su cabeza en otra parte
audit-broken = la auditoría fue alterada: { $cause }
    .next = guarde una copia de la base como está, y averigüe quién pudo escribir en ella

# The demo.

demo-database = la demo funciona solo sobre un archivo temporal o sobre PostgreSQL
    .next = quite --database, nombre una base PostgreSQL vacía, o use `turno serve --database URL`
demo-folder = no se pudo crear { $path }: { $cause }
    .next = ponga en TMPDIR una carpeta que se pueda escribir
demo-folders-full = { $path } está lleno de carpetas de demos anteriores
    .next = borre allí las carpetas que se llaman turno-demo-*
demo-port = no se consiguió un puerto para el módulo de la demo: { $cause }
    .next = termine otros programas de esta máquina para liberar un puerto
demo-title = Turno { $version } · demo · { $kind }, { $place } ({ $end }) · se detiene con Ctrl-C
demo-end-drop = borre la base cuando termine
demo-end-removed = se borra al final
demo-console = {"  "}consola   { $url }/   API { $url }/docs
demo-try = {"  "}pruebe    1 como Ana, procese una tarea · 2 como Leo, pida la misma · 3 como Eva, libérela
demo-try-sync = { demo-try } · 4 en SQL, update siper.usuarios
demo-editor = editora
demo-editor-beside = otro editor, junto a Ana en el mismo navegador
demo-editor-private = otro editor, en una ventana privada
demo-admin-private = administradora, en una ventana privada
demo-unreachable = no se llega a la base: { $cause }
    .next = nombre una base que exista y a la que se llegue, o quite --database
demo-not-empty = la base ya tiene un esquema { $schema }, y la demo no cambia datos existentes
    .next = cree una base vacía, por ejemplo con `createdb turno_demo`
demo-setup = no se pudo preparar la demo: { $cause }
    .next = use una base vacía
demo-stopped = la demo se detuvo: { $cause }
    .next = iníciela de nuevo

# serve, man, healthcheck.

queue-policy-refused = la cola { $queue } no puede tener la política de la configuración: { $cause }
    .next = una cola con elementos sin terminar conserva su tipo; use otro nombre para la nueva
setup-needed = todavía no hay administrador; cree el primero
setup-link = {"  "}en un navegador, una vez, dentro de 30 minutos: { $url }
setup-command = {"  "}o en la línea de comandos: turno user add SU-ID --role admin --password-stdin
man-failed = no se pudo escribir { $place }: { $cause }
    .next = revise que la carpeta se pueda escribir
man-page = la página
man-written = el manual está en { $folder }; empiece con `man -l { $folder }/turno.1`

# Users and tokens.

user-changed = { $user } ahora es { $role }, con el nombre { $name }
user-disabled = { $user } está deshabilitado, y lo que tenía está libre
user-enabled = { $user } está habilitado de nuevo
user-password-set = { $user } tiene una contraseña nueva
user-linked = se vinculó { $user }, que entra con el proveedor OpenID
user-unlinked = { $user } ya no está vinculado
user-identity = { $field } no es válido: { $cause }
    .next = dé el issuer de [oidc] y el claim sub de la persona
user-no-admin = { $user } no es un administrador habilitado
    .next = liste los usuarios con `turno user list`
user-break-glass = con este enlace { $user } entra una vez, dentro de 15 minutos:
user-removed = se quitó { $user }, con todos sus tokens
user-added = se agregó { $user } ({ $name }), { $role }
user-token-hint = para crear un token de la API: turno token create --user { $user }
user-none = todavía no hay usuarios; agregue uno con `turno user add ID --role admin`
user-unknown = no se conoce { $user }
    .next = vea los usuarios con `turno user list`
user-no-change = no hay nada que cambiar
    .next = diga el cambio: turno user change { $user } --role viewer|editor|admin, o --name NOMBRE
user-state-active = activo
user-state-disabled = deshabilitado
user-tokens = { $live }, y { $expired } vencidos
password-prompt = escriba la contraseña y pulse Enter (se ve al escribir):
password-stdin = no se pudo leer la entrada: { $cause }
    .next = envíe la contraseña como UTF-8
password-refused = una contraseña tiene al menos { $min } caracteres y como mucho { $max } bytes; elija otra
    .next = dé una línea por la entrada, por ejemplo: { $example }
password-common = esta contraseña es fácil de adivinar; elija otra
    .next = dé una línea por la entrada, por ejemplo: { $example }
password-hash = no se pudo cifrar la contraseña
    .next = intente de nuevo
answer-yes = sí
answer-no = no
token-resources-max = un token puede tener como mucho { $max } prefijos de recursos y { $max } colas
    .next = dé prefijos más cortos que los abarquen
token-is-revoked = se revocó { $token }
token-user-unknown = no hay un usuario { $user }
    .next = agregue antes al usuario: turno user add { $user } --role editor
token-unknown = no hay un token { $token }
    .next = vea los ids con `turno token list`
token-not-an-id = no hay un token con ese id; dé el id, no el token
    .next = vea los ids con `turno token list`
token-none = todavía no hay tokens; cree uno con `turno token create --user ID`
token-for-machine = máquina
token-for-person = persona
token-may-all = todos los del usuario
token-resources-all = todos
token-resources-none = ninguno
never = nunca

# Servers.

token-on-command-line = un token en la línea de comandos lo puede leer cualquiera en esta máquina
    .next = póngalo en la variable TURNO_TOKEN o en un archivo para --token-file, y revoque este si otros usan la máquina
token-file = no se pudo leer el token de { $path }: { $cause }
    .next = revise --token-file; el archivo tiene un token y nada más
credentials-read = no se pudo leer { $path }: { $cause }
    .next = revise sus permisos, o fije TURNO_TOKEN
credentials-write = no se pudo escribir { $path }: { $cause }
    .next = revise los permisos de su carpeta, o fije TURNO_TOKEN
credentials-broken = { $path } no es un archivo de turno login
    .next = quítelo y ejecute `turno login` de nuevo
credentials-nowhere = no hay una carpeta de configuración donde guardar el token
    .next = fije XDG_CONFIG_HOME o HOME, o use TURNO_TOKEN
login-open = entre aquí, en un navegador de esta máquina: { $url }
login-timeout = no llegó ningún acceso en 10 minutos
    .next = ejecute `turno login` de nuevo
login-random = el sistema no tiene números aleatorios: { $cause }
    .next = inténtelo de nuevo
login-listen = no se pudo escuchar en 127.0.0.1: { $cause }
    .next = inténtelo de nuevo, o fije TURNO_TOKEN
login-answer = la respuesta de { $server } no es la de un servidor Turno
    .next = revise --server o TURNO_URL
login-done = entró en { $server } como { $user }; el token está en { $path }
login-page-done = Acceso concedido. Puede cerrar esta página.
login-page-unknown = Esta página espera un acceso de turno login.
logout-none = no hay un token guardado para { $server }
    .next = no hace falta nada, o nombre otro servidor con --server
logout-done = salió de { $server }; se revocó el token de { $user }
server-url = la dirección del servidor no es una URL
    .next = dé --server o TURNO_URL como http://HOST:PUERTO o https://HOST
server-url-scheme = la dirección del servidor no empieza con http:// ni con https://
    .next = dé --server o TURNO_URL como http://HOST:PUERTO o https://HOST
server-url-credentials = la dirección del servidor tiene un usuario o una contraseña, pero Turno necesita un token
    .next = dé --server o TURNO_URL como http://HOST:PUERTO o https://HOST
list-more = hay más: agregue --cursor { $cursor }
server-other = { $server } respondió { $status }, pero no como un servidor Turno
    .next = revise --server o TURNO_URL, porque otro programa puede escuchar allí
server-unexpected = la respuesta de { $server } no es de un servidor Turno
    .next = revise --server o TURNO_URL, porque otro programa puede escuchar allí
server-unreachable = ningún servidor responde en { $server }: { $cause }
    .next = inícielo con `turno serve`, o nombre otro servidor con --server o TURNO_URL
server-slow = { $server } tardó demasiado en responder, así que no se conoce el resultado
    .next = revise el estado antes de repetir el comando; revise el servidor con `turno healthcheck`
server-lost = se perdió la conexión con { $server }: { $cause }
    .next = revise el estado antes de repetir el comando; revise el servidor con `turno healthcheck`
server-reconnect = se perdió la conexión con { $server }; se intenta de nuevo

# Problems that a server answered. The server wrote $cause in this language.

problem-line = línea { $line }: { $cause }
problem-after = { $cause } (los primeros { $stored } elementos están guardados)
answer-unauthenticated = { $cause }
    .next = cree un token donde está la base, con `turno token create --user ID`, y póngalo en la variable TURNO_TOKEN
answer-forbidden = { $cause }
    .next = use un token de un usuario que tenga { $permission }; `turno user list` muestra los roles
answer-forbidden-any = { $cause }
    .next = use un token de un usuario que tenga el permiso; `turno user list` muestra los roles
answer-other-resource = { $cause }
    .next = use un token que no esté limitado a otros recursos
answer-instance-required = { $cause }
    .next = agregue --instance NOMBRE, que distingue los procesos de una máquina
answer-held = { $cause }
    .next = espere con --wait 30s, o pídalo a quien lo tiene con `turno lease request-release`
answer-lost = { $cause }
    .next = deje de trabajar en ello, y tómelo de nuevo si está libre (`turno why` muestra quién lo tiene)
answer-lines-applied = { $cause }
    .next = repita con --keep-applied para anular la tarea y conservar esas líneas
answer-not-found = { $cause }
    .next = revise el nombre; `list` del mismo comando muestra los que hay (`turno queue items COLA` para elementos)
answer-wrong-state = { $cause }
    .next = mírelo primero: `turno queue item COLA ID` muestra su estado y su historia
answer-queue-changed = { $cause }
    .next = mírela con `turno queue get COLA`, y repita el comando
answer-kind-fixed = { $cause }
    .next = termine sus elementos (`turno queue items COLA` los muestra), o cree una cola con otro nombre
answer-too-large = { $cause }
    .next = envíe menos a la vez, o guarde los datos grandes en otra parte y encole su dirección
answer-managed = { $cause }
    .next = cámbiela en el archivo de configuración del servidor y reinicie el servidor
answer-delivered = { $cause }
    .next = envíe una clave de nuevo con `turno sync resync --key CLAVE`; para consumir usted los cambios, quite `deliver` de la fuente
answer-claimed-mine = { $cause }
    .next = cierre su entrega con `turno queue ack` o `fail`; si no, termina sola
answer-exhausted = { $cause }
    .next = reinténtelo con `turno queue retry COLA ID`, o siga con el siguiente
answer-cancelled = { $cause }
    .next = siga con el siguiente; encólelo de nuevo con otro --id si al final hace falta
answer-done = { $cause }
    .next = siga con el siguiente
answer-invalid = { $cause }
    .next = corríjalo e intente de nuevo; --help del comando muestra los argumentos
server-busy = { $server } está ocupado ({ $status }); se intenta de nuevo en { $span }
answer-busy = { $cause }
    .next = intente de nuevo en un momento; no se guardó nada
answer-internal = { $cause }
    .next = intente de nuevo; el log del servidor tiene más en la petición { $request }
answer-other = { $cause }
    .next = cambie lo que nombra la respuesta e intente de nuevo; `turno why` puede explicar más

# Times.

when-now = ahora
when-just-now = ahora mismo
when-moment = en un momento
when-past = hace { $span }
when-future = en { $span }
when-for = desde hace { $span }
when-since = desde { $time }
when-soon = pronto

# Leases and turno run.

lease-not-asked = el bloqueo está libre, así que no se envió ninguna solicitud
lease-asked = se pidió a quien lo tiene que lo libere
lease-line-left = usted dejó la fila
lease-your-turn = es su turno: tómelo dentro de { $span }
lease-place = número { $position } en la fila
lease-place-for = número { $position } en la fila; el lugar dura { $span }
lease-not-renewed = el bloqueo no se renovó ({ $reason }) y termina { $when }
    .next = trabaje e infórmelo con --worked, o tómelo de nuevo cuando esté libre
lease-none = no hay bloqueos activos
lease-no-history = nadie lo tuvo antes
lease-unless-work = en { $span } si no hay trabajo
lease-by = por { $person }
lease-requested = por { $person }, { $when }
lease-requested-message = por { $person }, { $when }: { $message }
lease-mine = { $state }, suyo
lease-kept-state = { $state }, su titular ya lo liberó
lease-you = usted
lease-this = este bloqueo
lease-held = { $resource } lo tiene { $person } { $lasting }; termina { $until } si no se renueva
lease-kept = { $resource } lo liberó { $person } y sigue tomado; termina { $until }
lease-offered = { $resource } está libre, pero reservado para { $person }, que sigue en la fila
lease-free = { $resource } está libre
lease-and-waiting = { $sentence }; { $count ->
        [one] uno espera
       *[other] { $count } esperan
    }
run-outlived = { $command } siguió un momento sin su bloqueo: { $cause }
    .next = vea quién lo tiene con `turno why`; el trabajo del comando puede estar a medias
run-stopped = se detuvo { $command }: { $cause }
    .next = vea quién lo tiene con `turno why`; el trabajo del comando puede estar a medias
run-stopping = se detiene el comando: { $cause }
run-forced = se perdió el bloqueo: { $person } lo forzó
run-forced-note = se perdió el bloqueo: { $person } lo forzó. Motivo: { $note }
run-not-found = no se pudo ejecutar { $command }: no existe ese comando
    .next = revise el nombre y PATH; escriba el comando después de -- como lo escribiría
run-not-executable = no se pudo ejecutar { $command }: permiso denegado
    .next = hágalo ejecutable (chmod +x)
run-failed = no se pudo ejecutar { $command }: { $cause }
    .next = revise el comando; el bloqueo se liberó
run-held = { $resource } lo tiene { $person } desde { $time }
    .next = intente más tarde, o espere en la fila con --wait 10m; `turno why` dice más
run-kept = { $resource } ya se usó en este período: sigue tomado hasta { $time }
    .next = no hay nada que hacer: ejecute el comando después de esa hora, o espere en la fila con --wait 10m
run-at-least = { $resource } se puede conservar { $max } como mucho, y --at-least-for dice { $asked }
    .next = dé un tiempo menor, o suba max_ttl_ms en la política de su prefijo ([leases.…] en la configuración)
run-offered = { $resource } está reservado para { $person }, que sigue en la fila
    .next = intente más tarde, o espere en la fila con --wait 10m; `turno why` dice más
run-just-held = { $resource } lo tenía otro proceso hasta recién
    .next = intente más tarde, o espere en la fila con --wait 10m; `turno why` dice más
run-not-granted = { $cause }
    .next = intente más tarde, o espere en la fila con --wait 10m; `turno why` dice más
run-not-released = no se pudo liberar el bloqueo ({ $cause }); vence solo
run-no-renewal = se perdió el bloqueo: ninguna renovación llegó a tiempo
run-no-answer = el bloqueo se otorgó, pero el servidor dejó de responder
run-no-fence = el servidor otorgó un bloqueo sin fence
    .next = revise --server o TURNO_URL
instance-random = el sistema no tiene azar: { $cause }
    .next = dé --instance NOMBRE

# Queues.

typing-noted = anotado
cancel-item = { $item } está cancelado
queue-paused = { $queue } está en pausa: no se entrega nada hasta que se reanude
queue-resumed = { $queue } vuelve a entregar
payload-not-json = el contenido no es JSON: { $cause }
    .next = póngalo entre comillas simples, como en { $object }; un texto necesita las suyas, como en { $text }
input-keyboard = se lee del teclado; termine con Ctrl-D
input-unreadable = no se pudo leer { $name }: { $cause }
    .next = revise su nombre, y que sea UTF-8
input-empty = la entrada está vacía: no hay elementos que encolar
    .next = escriba un objeto JSON por línea, por ejemplo { $example }
input-array = la entrada es un arreglo JSON, no un objeto JSON por línea
    .next = escriba cada elemento en su propia línea, por ejemplo con: jq -c '.[]'
input-line-json = la línea { $line } no es JSON: { $cause }
    .next = escriba un elemento por línea, por ejemplo { $example }
input-line-object = la línea { $line } no es un objeto JSON
    .next = escriba un elemento por línea, por ejemplo { $example }
input-progress = { $sent } de { $all }
item-differs = { $outcome }, con otro contenido
items-none-sent = no se envió nada
queue-none = todavía no hay colas; cree una con `turno queue put NOMBRE --kind lane`
queue-state-paused = en pausa
queue-state-pushed = enviada
queue-state-down = destino caído { $lasting }
queue-latency = { $half } (la mitad del último minuto), { $most } (95 de 100)
queue-nothing-out = no se entrega nada hasta que se reanude
queue-set-by-file = el archivo de configuración
destination-down = caído desde { $since }; no se gastan intentos
destination-failing = { $count ->
        [one] responde, pero la última llamada falló
       *[other] responde, pero las últimas { $count } llamadas seguidas fallaron
    }
destination-well = sin fallos conocidos
push-signed = { $method } { $url } (firmado con { $variable }, responde en { $span })
push-unsigned = { $method } { $url } (sin firma, responde en { $span })
push-nowhere = ninguno: los procesos toman las entregas
items-none = no hay tales elementos
item-decided = se decide en la entrega
event-attempt = intento { $attempt }
event-fence = fence { $fence }
event-by = por { $user }
event-handed = se entregó { $when }
why-nothing = ni un elemento ni una clave
    .next = nombre un elemento, o una clave con --key
queue-needs-kind = todavía no hay una cola { $queue }, y una nueva necesita un tipo
    .next = agregue --kind lane, inbox o sync; `turno queue list` muestra las que hay
queue-kind-differs = la cola { $queue } es de tipo { $kind }; como { $other } no conservaría nada de su política
    .next = agregue --reset para empezar con los valores del tipo nuevo, o elija otro nombre
policy-not-json = { $file } no tiene una política: { $cause }
    .next = escriba un objeto JSON, por ejemplo { $example }
queue-kind-changed = { $queue } era { $kind } y ahora es { $other }; lo que no se nombró tiene el valor de ese tipo
purge-matching = { $count ->
        [one] 1 elemento terminado de { $queue } pasó
       *[other] { $count } elementos terminados de { $queue } pasaron
    } su plazo de conservación; no se cambió nada
purge-done = { $count ->
        [one] se borró 1 elemento terminado
       *[other] se borraron { $count } elementos terminados
    } de { $queue }
retry-matching = { $count ->
        [one] 1 elemento agotado de { $queue } coincide
       *[other] { $count } elementos agotados de { $queue } coinciden
    }; no se cambió nada
retry-done = { $count ->
        [one] se reintentará 1 elemento de { $queue }
       *[other] se reintentarán { $count } elementos de { $queue }
    }
retry-item = se reintentará { $item }
item-retried-corrected = se reintentará { $item } con el contenido nuevo
queue-nothing-due = no hay nada pendiente
settled-again = { $outcome }, de nuevo { $when }
settle-limited = la entrega no se puede prolongar: max_hold_ms de su cola la termina { $when }
settle-not-in-delivery = no se cerró nada: el elemento nombrado no está en esta entrega
    .next = nombre uno de sus elementos, como los mostró la toma; `turno queue item` muestra el estado de un elemento
settle-stale = esta entrega venció, y otro proceso puede tenerla
    .next = deje de trabajar en ella, y tome de nuevo
work-stopping = se detienen los comandos
work-draining = no se toma nada más; una segunda señal detiene los comandos enseguida
work-left = devueltas, y dejadas para otra vez: { $count }
work-retrying = { $cause }; se intenta de nuevo
work-lost = se perdió la toma de { $delivery }; se detuvo el comando
work-limited = { $delivery } no se puede prolongar: max_hold_ms de su cola la termina
work-stale = { $delivery } no se cerró: venció, y otro proceso puede hacerla de nuevo
work-failed = { $delivery } falló, { $outcome }: { $error }
work-unsettled = no se pudo cerrar { $delivery }: { $cause }
work-paused = { $queue } está en pausa y no entrega nada; `turno queue resume { $queue }` la reanuda
work-source = { $queue } lleva cambios de la fuente { $source }, que solo entrega un servidor
    .next = quite --database, y nombre el servidor con --server
work-unreadable = no se puede leer una entrega
    .next = use la misma versión de turno aquí y en el servidor
work-not-found = no existe el comando { $command }
    .next = revise el nombre y PATH; escriba el comando después de -- como lo escribiría
work-not-executable = { $command } no es ejecutable
    .next = hágalo ejecutable (chmod +x)
work-command-failed = no se pudo ejecutar { $command }: { $cause }
    .next = revise el comando; la entrega se devolvió

# Tasks and why.

task-none = no hay tales tareas; cree una con `turno task create`
task-lines-json = { $file } no tiene líneas: { $cause }
    .next = escriba un arreglo JSON como { $example }
lines-none = la tarea no tiene líneas
task-title = tarea { $task }
task-is = la tarea { $task } está { $status }
task-explained = La tarea { $task } está { $status }. { $lock }
task-lines-failed = la tarea { $task } está { $status }: { $failed } de { $all } líneas no se aplicaron
    .next = corrija esas líneas, tome la tarea de nuevo y finalícela de nuevo; las líneas aplicadas no se aplican dos veces
task-no-history = la tarea todavía no tiene historia
task-line = línea { $line }
lock-held = lo tiene { $person } { $lasting }
lock-offered = reservado para { $person }
lock-free = libre
why-many = eso es más de una cosa
    .next = pregunte por un recurso, task:N, una cola, COLA/ELEMENTO, o COLA key CLAVE
why-unknown = no hay una cola { $queue }, y nunca hubo un bloqueo { $resource }
    .next = revise el nombre; `turno queue list` y `turno lease list` muestran los que hay
why-down = el destino de { $queue } está caído; Turno lo prueba
queue-empty = { $queue } no tiene elementos sin terminar
why-unpolled = { $queue } está lista, pero ningún proceso la atiende
why-working = { $queue } se está procesando
why-waiting = { $count ->
        [one] 1 espera
       *[other] { $count } esperan
    }
why-in-process = { $count } en proceso
queue-exhausted = { $count ->
        [one] 1 agotado
       *[other] { $count } agotados
    }
why-oldest = el más antiguo espera { $lasting }

# Synchronisation.

sync-none = la configuración no tiene [[sync.source]]
    .next = agregue una (`preset = "siper"` es un ejemplo), y nombre el archivo con --config ARCHIVO
sync-unknown = no hay una fuente { $source }
    .next = use una de: { $names }
sync-installed = { $source }: los cambios de { $table } van a la cola { $queue }
sync-resync-hint = las filas existentes se envían con `turno sync resync --all`
sync-not-installed = { $source }: no está instalada
sync-removed = { $source }: se quitó { $object }
sync-forbidden = { $cause }
    .next = otorgue a este rol usage sobre el esquema de la tabla, select y trigger sobre la tabla, create sobre el esquema de la vista, y para el índice la pertenencia al rol dueño de la tabla; o que un superusuario ejecute lo que imprime `turno sync plan`
sync-rejected = { $cause }
    .next = corríjalo en la fuente o en la tabla, y repita el comando
sync-failure = { $source }: { $cause }; { $next }
sync-failed = fallaron { $failed } de { $all } fuentes: { $names }
    .next = corrija los fallos de arriba; las otras fuentes se atendieron
sync-several = hay varias fuentes
    .next = nombre la fuente de la clave: --source NOMBRE
sync-bad-key = { $cause }
    .next = pase la clave como es
sync-key-queued = { $source }: { $key } está en la cola
sync-differences-listed = { $source }: solo se listan las primeras { $count } diferencias
sync-pending = { $count ->
        [one] 1 clave se está entregando
       *[other] { $count } claves se están entregando
    } todavía
sync-equal = el destino tiene lo que dicen las fuentes
sync-equal-else = nada más difiere de lo que dicen las fuentes
sync-differ = { $count ->
        [one] 1 clave difiere
       *[other] { $count } claves difieren
    }
    .next = envíelas: `turno sync check --queue-differences`
sync-differ-queued = { $count ->
        [one] 1 clave difiere
       *[other] { $count } claves difieren
    }; en la cola
sync-unfit = { $count ->
        [one] 1 clave no se puede
       *[other] { $count } claves no se pueden
    } encolar: { $names }
    .next = cámbiela en la tabla: una clave tiene de 1 a 200 caracteres, sin caracteres de control
sync-progress = { $source }: { $count ->
        [one] 1 clave
       *[other] { $count } claves
    }, { $queued } en la cola
sync-progress-to = { $source }: { $count ->
        [one] 1 clave
       *[other] { $count } claves
    }, { $queued } en la cola, hasta { $key }
sync-after = { $cause }
    .next = escriba la clave de --after como la muestra la columna de la tabla, por ejemplo un número en una columna de números
sync-unreadable = { $cause }
    .next = revise la fuente en la configuración, y que este rol pueda leer su tabla
sync-continue = { $cause }
    .next = siga con --source { $source } --after { $key }; { $next }
sync-fault-absent = sus triggers no están instalados
    .next = ejecute `turno sync install`
sync-fault-differs = sus triggers no son como dice la configuración
    .next = ejecute `turno sync install`
sync-fault-exhausted = agotadas: { $count ->
        [one] 1 clave
       *[other] { $count } claves
    }
    .next = lea sus errores, y después envíelas de nuevo: `turno queue retry-exhausted { $queue }`
sync-fault-gone = activas en el destino, sin fila: { $count ->
        [one] 1 clave
       *[other] { $count } claves
    }
    .next = envíelas: `turno sync check --queue-differences`
sync-fault-refused = no se pueden enviar: { $count ->
        [one] 1 clave
       *[other] { $count } claves
    }
    .next = cámbielas en la tabla, y después borre sus filas de turno.intake_refused
sync-no-queue = la cola no existe todavía, así que no se guardan cambios: `turno sync install` o un servidor al arrancar la crea
sync-no-queue-server = la cola no existe todavía: un servidor con esta configuración la crea al arrancar
sync-is-installed = sí, como dice la configuración
sync-is-absent = no: ejecute `turno sync install`
sync-is-different = no como dice la configuración: ejecute `turno sync install`
sync-is-blocked = no, y `turno sync install` se niega
sync-is-sqlite = sin triggers en SQLite: alimente la cola por la API
sync-is-unknown = no se sabe: { $cause }
sync-part = { $object } { $name } { $state }
sync-part-good = es como dice la configuración
sync-part-missing = falta
sync-part-differs = no es como dice la configuración
sync-part-disabled = está deshabilitado
sync-part-stale = es de una configuración anterior
sync-part-taken = es el nombre de otro objeto
sync-left = { $count ->
        [one] 1 clave dejó
       *[other] { $count } claves dejaron
    } de cumplir la condición, y no se avisó al destino (on_leave = "ignore")
sync-gone = { $count ->
        [one] 1 clave está activa
       *[other] { $count } claves están activas
    } en el destino sin fila, y no hay nada en la cola
sync-unsendable = { $count ->
        [one] 1 clave no se puede
       *[other] { $count } claves no se pueden
    } enviar; vea turno.intake_refused
sync-destination-none = ninguno: los procesos toman los cambios de la cola
sync-destination-well = { $endpoint }: sin fallos conocidos
sync-destination-down = { $endpoint }: caído hace { $span }, no se gastan intentos, próxima prueba en { $probe }
sync-destination-down-now = { $endpoint }: caído hace { $span }, no se gastan intentos, próxima prueba ahora
sync-destination-failing = { $endpoint }: { $count ->
        [one] la última llamada falló
       *[other] las últimas { $count } llamadas fallaron
    }

# Arguments.

argument-duration = se espera una duración como 30s, 5m, 1h30m, 7d o 500ms
argument-unit = falta la unidad: ¿{ $number }s, { $number }m, { $number }h o { $number }ms?
argument-address = se espera HOST:PUERTO, por ejemplo 127.0.0.1:7171 o [::1]:0
argument-task = se espera el número de una tarea, por ejemplo 7
argument-quantity = se espera SKU=N, por ejemplo TORN-8=40
argument-serials = se espera SKU=SERIE,SERIE, por ejemplo ROUTER=A1,A2
argument-negative = { $value } se tomó por una opción, y no hay una opción con ese nombre
    .next = escriba un valor de 0 o más; escriba después de -- un argumento que empieza con un guion, como en: turno queue enqueue COLA -- -5

# States and outcomes, by their codes.

word-item-pending = pendiente
word-item-in-process = en proceso
word-item-processed = procesado
word-item-error = con error
word-item-exhausted = agotado
word-item-cancelled = cancelado
word-item-duplicate = repetido
word-item-queued = en cola
word-item-coalesced = reunido con otro
word-item-acked = hecho
word-item-retrying = se reintenta
word-item-returned = devuelto
word-item-superseded = reemplazado
word-item-stale = caduco
word-item-renewed = renovado
word-item-not-in-delivery = ajeno a la entrega
word-sync-missing = falta
word-sync-differs = difiere
word-sync-gone = sobra
word-line-pending = pendiente
word-line-validated = validada
word-line-applied = aplicada
word-line-failed = fallida
word-line-skipped = omitida
word-happened-created = creada
word-happened-edited = editada
word-happened-ready = lista
word-happened-processing = en proceso
word-happened-line-edited = línea editada
word-happened-line-validated = línea validada
word-happened-line-applied = línea aplicada
word-happened-line-failed = línea fallida
word-happened-finalized = finalizada
word-happened-cancelled = cancelada
word-happened-lock-ended = terminó el bloqueo
word-server-ready = listo
word-movement-in = entra
word-movement-out = sale
word-lease-free = libre
word-lease-locked = bloqueado
word-lease-offered = reservado
word-ending-expired = venció
word-ending-released = se liberó
word-ending-forced = por la fuerza
word-ending-no-heartbeat = sin señales
word-ending-idle = sin actividad
word-ending-rolling-timeout = demasiado tiempo sin trabajo
word-ending-override = intervención
word-ending-user-disabled = usuario deshabilitado
word-status-draft = en borrador
word-status-ready = lista
word-status-processing = en proceso
word-status-completed = finalizada
word-status-partially-completed = finalizada en parte
word-status-cancelled = anulada
word-object-function = función
word-object-view = vista
word-object-index = índice
word-object-table = tabla

# Labels of values and columns, by their names in the code. Columns are shown in capitals.

head-number = n.º
head-when = cuándo
head-who = quién
head-action = acción
head-what = qué
head-detail = detalle
head-resource = recurso
head-holder = quién lo tiene
head-since = desde
head-expires = vence
head-waiting = esperan
head-from = desde cuándo
head-to = hasta cuándo
head-ending = cómo terminó
head-outcome = resultado
head-queue = cola
head-kind = tipo
head-oldest = más antiguo
head-done-per-minute = hechos/min
head-key = clave
head-state = estado
head-attempts = intentos
head-attempt = intento
head-came = llegó
head-last-error = último error
head-delivery = entrega
head-item = elemento
head-payload = contenido
head-task = tarea
head-status = estado
head-title = título
head-lines = líneas
head-lock = bloqueo
head-line = línea
head-movement = movimiento
head-user = usuario
head-for = para
head-may = puede
head-resources = recursos
head-queues = colas
head-last-used = último uso
head-name = nombre
head-role = rol
head-identity = identidad
head-password = contraseña
head-claim = toma
head-heartbeat = última señal
head-rolling = límite sin trabajo
head-offered-to = ofrecido a
head-asked-for = liberación solicitada
head-waited = esperó
head-done-after = hecho tras
head-destination = destino
head-next-probe = próxima prueba
head-paused = en pausa
head-set-by = lo fija
head-oldest-waiting = el más antiguo
head-push = envío
head-due = para
head-revision = revisión
head-table = tabla
head-installed = instalado
head-conflict = conflicto
head-to-do = qué hacer
head-failing = fallan
head-left = salieron
head-gone = sin fila
head-refused = rechazados
head-created = creada
head-lease = bloqueo

# Counts of items by their state.

head-count-pending = pendientes
head-count-in-process = en proceso
head-count-processed = procesados
head-count-error = con error
head-count-exhausted = agotados
head-count-cancelled = cancelados

# Rates of a queue.

head-rate-enqueued = llegados en el último minuto
head-rate-processed = procesados en el último minuto
head-rate-failed = fallidos en el último minuto

# Events of an item, by their codes.

head-event-enqueued = llegó
head-event-handed-out = se entregó
head-event-failed = falló
head-event-claimed = se tomó
head-event-acked = se terminó
head-event-retrying = se reintenta
head-event-returned = se devolvió
head-event-expired = venció
head-event-retried = se reintentó
head-event-superseded = lo reemplazó otro
head-event-skipped = no había nada que avisar
head-event-cleared = se vació su carril
head-event-edited = se corrigió
head-event-exhausted = se agotó
head-event-processed = se procesó
head-event-cancelled = se canceló

# Keys of a queue's policy.

head-policy-kind = tipo
head-policy-lock-timeout = plazo de entrega
head-policy-max-hold = plazo máximo
head-policy-window = ventana
head-policy-typing-extension = extensión al escribir
head-policy-max-wait = espera máxima
head-policy-batch-max = tamaño del grupo
head-policy-max-attempts = intentos máximos
head-policy-backoff = espera tras un fallo
head-policy-retention = se conserva
head-policy-on-exhausted = al agotarse
