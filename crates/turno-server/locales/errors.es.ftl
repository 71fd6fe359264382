# Errors of the library, by variant; see src/texts/causes.rs. They are fragments that fit after "failed: ".

error-text = { $text }
error-with-next = { $cause }; { $next }
error-instance-required = el token de una máquina debe nombrar su instancia; agréguela
error-wrong-status = la tarea { $task } está { $status }, y no se puede bloquear
error-unknown = no se conoce { $thing }
error-overloaded = hay demasiado trabajo; no se guardó nada, vuelva a intentar en un momento
error-closed = está cerrada; ábrala de nuevo
error-no-randomness = el sistema no tiene números al azar: { $cause }
error-bug = un error de Turno: { $what }; por favor repórtelo
error-trusted-only = un programa que actúa por un usuario no puede saltar las reglas
error-not-authenticated = solo quien inició sesión puede actuar por otro; identifíquese primero
error-other-holder = { $caller } no puede tener nada como { $holder }; actúe en su nombre
error-full-admin-only = solo el token de un administrador completo puede copiar la base
error-expel = deshabilite al usuario; sus bloqueos terminan con eso
error-look = el motor revisa los bloqueos por su cuenta, cuando vencen
error-no-key = una entrega sin clave no es de ninguna fuente
error-database-url = la base se da como sqlite:RUTA o postgres://USUARIO@EQUIPO/BASE
error-url = { $fault ->
        [unknown] el parámetro { $name } no existe
        [value] el valor de { $name } no es válido
        [read_only] target_session_attrs exige un servidor de solo lectura, y Turno escribe; use read-write
        [system_roots] sslrootcert=system necesita sslmode=verify-full
        [no_roots] sslmode=verify-ca necesita sslrootcert=ARCHIVO
       *[half_client] sslcert y sslkey van juntos; dé los dos
    }

# Things that a call names.

thing-token = el token { $id }
thing-link = el enlace
thing-queue = la cola { $queue }
thing-source = la fuente { $source }
thing-task = la tarea { $task }
thing-task-line = la línea { $line } de la tarea { $task }
thing-line = la línea { $line }

# Fields.

error-field = { $field }: { $fault }
error-bounds = debe estar entre { $min } y { $max }
error-zero-or-more = debe ser 0 o más
error-keep-and-grace = no se puede combinar con grace_ms
error-length = debe tener de 1 a { $max } caracteres, sin caracteres de control
error-too-many = como mucho { $max }, y son { $given }; divídalo
error-too-many-resources = como mucho { $max }; dé los comienzos que comparten
error-too-large = pasa de { $max } bytes; acórtelo
error-too-deep = tiene más de { $max } niveles, uno dentro de otro; aplánelo, o envíelo como texto
error-bidi = contiene un carácter que cambia la dirección del texto; quítelo
error-nul = contiene un carácter NUL; quítelo
error-not-json = no se puede escribir como JSON: { $cause }
error-key-required = una cola de carriles o de sincronización necesita la clave del elemento
error-key-or-all = dé o bien key, o bien all
error-no-lines = una tarea que se puede tomar tiene al menos una línea
error-twice = { $serial } está dos veces
error-cursor = pase el next_cursor de la página anterior, sin cambiarlo
error-true-or-false = debe ser true o false
error-reason-empty = está vacío; diga por qué, para quien lea la auditoría
error-own-password = solo la persona misma puede cambiar su contraseña
error-row-is-delivered = la entrega lleva la fila de { $table }; corríjala allí, y reintente sin payload
error-line-serials-only = una línea con series tiene números de serie, y no cantidad
error-line-no-serials = una línea con series necesita sus números de serie
error-line-empty-serials = hace falta al menos uno
error-line-quantity-only = una línea por cantidad tiene cantidad, y no números de serie
error-line-no-quantity = una línea por cantidad necesita su cantidad
error-export-format = "{ $given }" no se conoce; use csv o json
error-unknown-word = "{ $given }" { $vocabulary ->
        [item_state] no es un estado de un elemento
        [task_status] no es un estado de una tarea
        [permission] no es un permiso
        [role] no es un rol
       *[topic] no es un tema
    }; elija entre { $known }

# The audit's chain.

error-head = "{ $given }" no es el final de una auditoría; se espera NÚMERO:HUELLA, como lo muestra `audit verify`
error-chain-gap = la entrada { $found } está donde va la { $expected }
error-chain-altered = la entrada { $n } no es lo que era cuando se escribió
error-chain-cut = la cadena termina en la entrada { $found }, y debería terminar en la { $expected }
error-chain-rewritten = la entrada { $n } tiene otra huella que la guardada en otra parte; la cadena se reescribió

# JSON bodies and queries.

json-missing = falta el campo { $field }
json-unknown = el campo { $field } no se conoce; los campos son { $known }
json-duplicate = el campo { $field } está dos veces
json-word = "{ $given }" no se conoce; use uno de { $known }
json-type = debe ser { $expected }
json-control = contiene un carácter de control; quítelo
json-cut = se acaba antes de tiempo, en la línea { $line }, columna { $column }
json-syntax = no es JSON válido en la línea { $line }, columna { $column }
json-other = el valor no sirve
json-broke-off = el cuerpo se cortó antes de su fin; envíelo entero
json-form = no se pueden leer los campos del formulario
expected-value = un valor de otro tipo
expected-boolean = true o false
expected-integer = un número entero
expected-unsigned = un número entero, desde 0
expected-number = un número
expected-text = un texto
expected-list = una lista
expected-object = un objeto
expected-word = una de las palabras conocidas, como texto

# Names and policies.

error-name-empty = { $name } está vacío; dele de 1 a { $max } caracteres
error-name-long = { $name } tiene más de { $max } caracteres; acórtelo
error-name-control = { $name } contiene un carácter de control; quítelo
error-name-dots = { $name } no puede ser . ni ..; elija otro
error-name-kind = { $kind ->
        [user_id] el usuario
        [queue_name] el nombre de la cola
        [item_id] el id del elemento
        [request_id] el id del pedido
        [serial_number] el número de serie
        [action] el nombre de la acción
        [instance] el nombre de la instancia
        [key] el texto de la clave
        [resource] el recurso
        [scope] el ámbito
       *[sku] el código del artículo
    }
error-policy = { $field } debe estar entre { $min } y { $max }

# Access.

error-unauthenticated = el token no vale, o ya no; inicie sesión de nuevo o pida otro
error-forbidden = hace falta el permiso { $permission }; pídalo a un administrador
error-other-resource = este token no vale para { $resource }; use uno cuyos recursos o colas lo incluyan
error-more-than-held = usted no tiene { $permission }, así que no puede darlo ni quitarlo; pídalo a quien lo tenga
error-last-admin = { $user } es el último administrador; haga administrador a otra persona primero
error-limited-token = un token para algunos recursos o colas no puede administrar personas
error-restricted-token = solo un token propio y completo puede cambiar su cuenta
error-role-lacks = { $user } es { $role } y no puede { $permission }, así que ningún token suyo puede; cambie antes el rol
error-token-expired = el token ya estaría vencido; dele una fecha posterior
error-too-many-tokens = { $user } tiene { $max } tokens, que es el máximo; revoque alguno
error-session-ttl = una sesión vive de 1 a { $max } segundos
error-link-ttl = un enlace vive de 1 a { $max } segundos
error-not-for-sessions = una sesión no puede tener { $permission }; use un token propio
error-outlives = este token no puede hacer otro que viva más o sea de otro tipo
error-reaches-further = un token no puede llegar más lejos que el que lo hace
error-program-only = solo el programa que usa Turno inicia sesiones, y hace y usa enlaces
error-has-admin = ya hay un administrador; pídaselo, o haga un enlace para que entre un usuario
error-identity-linked = esta identidad ya está vinculada a { $user }; quite antes ese vínculo
error-overlap = el token anterior sigue valiendo { $max } segundos como máximo
error-user-exists = { $user } ya existe; cámbielo, o elija otro id

# Leases.

error-lease-held = lo tiene { $holder }
error-lease-offered = reservado para { $holder }
error-lease-pinned = una transacción abierta depende del bloqueo; vuelva a intentar en un momento
error-line-full = la fila está llena; vuelva a intentar más tarde
error-already-holder = quien tiene el bloqueo no puede esperarlo
error-idle-required = este bloqueo vigila la inactividad; la renovación debe decir hace cuánto que la persona no hace nada
error-keep = un bloqueo se puede conservar { $max } ms como mucho
error-ttl = el plazo debe estar entre { $min } y { $max } ms
error-lease-lost = se perdió el bloqueo: { $cause ->
        [no_heartbeat] no llegó ninguna renovación a tiempo
        [idle] quien lo tenía estaba inactivo
        [rolling_timeout] pasó demasiado tiempo sin trabajo
        [override] lo tomó otro usuario
        [user_disabled] se deshabilitó a quien lo tenía
        [released] se liberó
        [expired] venció
        [unreachable] no se llegó a la base a tiempo
        [denied] se quitó el permiso
       *[unknown] el fence es caduco
    }

# Stores. $cause is the database's own text.

error-store-unavailable = no se llega a la base: { $cause }
error-tls = { $fault ->
        [refused] el servidor no ofrece TLS, y sslmode lo exige
        [unknown_issuer] el certificado del servidor lo emitió una autoridad desconocida
        [wrong_name] el certificado del servidor no es para { $host }; nombra { $names }
        [expired] el certificado del servidor venció
        [not_yet_valid] el certificado del servidor todavía no es válido
        [certificate] el certificado del servidor no se puede usar: { $cause }
        [client_required] el servidor exige un certificado de cliente
        [client_refused] el servidor rechaza el certificado de cliente
       *[handshake] falló la negociación de TLS: { $cause }
    }
error-tls-file = { $parameter } { $path } { $problem ->
        [no_certificate] no tiene un certificado
        [no_key] no tiene una clave privada sin cifrar
        [exposed] lo pueden leer otros usuarios; ejecute chmod 600
        [mismatch] no corresponde al certificado
       *[unreadable] no se puede leer
    }
error-store-unknown = no se sabe si se guardó: { $cause }
error-store-conflict = otra transacción se adelantó: { $cause }
error-store-rejected = la base lo rechazó: { $cause }
error-access-changed = cambiaron los permisos de quien llama; vuelva a intentar
error-queue-gone = una cola del pedido ya no existe; vuelva a intentar
error-schema-missing = la base todavía no tiene esquema, y este programa necesita { $wanted }; ejecute turno migrate
error-schema-old = la base tiene el esquema { $found }, y este programa necesita { $wanted }; ejecute turno migrate
error-schema-new = la base tiene el esquema { $found }, que necesita un programa más nuevo; este conoce { $wanted }: actualícelo
error-kind-stays = la cola { $name } tiene elementos sin terminar o agotados, así que sigue siendo { $kind }; vacíela primero, o use otro nombre
error-file = { $fault ->
        [gone] el archivo de la base se borró o se movió; detenga el servidor y ponga el archivo o una copia de seguridad en su lugar
        [replaced] el archivo de la base se reemplazó por otro; reinicie el servidor para usar ese, o devuelva el primero
        [cut_short] el archivo de la base se cortó; detenga el servidor y ponga una copia de seguridad en su lugar
        [log_gone] el registro junto al archivo de la base (-wal) se borró o se reemplazó; detenga el servidor y ponga una copia de seguridad en su lugar
        [damaged] el archivo de la base está dañado; detenga el servidor y ponga una copia de seguridad en su lugar
        [not_a_database] el archivo no es una base SQLite; dé otra ruta
       *[unwritable] no se puede escribir en el archivo de la base, vea si el disco está lleno o es de solo lectura: { $cause }
    }

# Sources, each with the next step.

error-source-no-triggers = los triggers necesitan PostgreSQL; en SQLite una cola de sincronización se alimenta por la API
    .next = ponga los cambios en la cola con `turno queue enqueue` o { $route }, o use PostgreSQL
error-source-no-table = no existe la tabla { $table }
    .next = créela primero, o corrija `table` de la fuente: las mayúsculas cuentan, y va sin comillas
error-source-not-a-table = { $table } no es una tabla
    .next = nombre una tabla común o particionada
error-source-no-columns = { $count ->
        [one] la tabla { $table } no tiene la columna { $columns }
       *[other] a la tabla { $table } le faltan las columnas { $columns }
    }
    .next = corrija `key`, `watch` y `payload` de la fuente; las mayúsculas cuentan
error-source-key-type = la columna { $column } es de tipo { $type }, que no puede ser una clave
    .next = elija una columna de números enteros, numeric, text, uuid o un enum
error-source-not-a-key = esto no puede ser una clave de la columna { $column }: { $cause }
    .next = dé un valor de { $column } tal como está en la tabla
error-source-unreadable = { $role } no puede leer { $table }
    .next = otorgue usage sobre su esquema, y select sobre { $table }, a { $role }
error-source-hidden = la seguridad por filas de { $table } le oculta filas a { $role }, y parecería que ya no están
    .next = dé bypassrls a { $role }, o una política para todas las filas
error-source-condition = las condiciones no sirven: { $cause }
    .next = corrija `current_when` y `enqueue_when`; los nombres fuera de pg_catalog llevan su esquema
error-source-no-queue = no hay una cola { $queue } de sincronización
    .next = créela, o deje que lo haga `turno sync install`
error-source-taken = { $kind } { $name } ya existe y no es de esta fuente
    .next = elija otro nombre en la fuente, o quite lo que hay
error-object-kind = { $kind ->
        [table] la tabla
        [view] la vista
        [index] el índice
        [trigger] el trigger
        [function] la función
        [materialized_view] la vista materializada
        [foreign_table] la tabla foránea
        [sequence] la secuencia
       *[relation] la relación
    }
error-source-duplicates = hay más de una fila vigente para { $count ->
        [one] 1 clave
       *[other] { $count } claves
    } de { $table }, con el número de filas: { $keys }
    .next = deje una fila vigente por clave e instale de nuevo; o ponga one_current_per_key = false
error-ident-empty = un nombre de la base está vacío; dele de 1 a { $max } bytes
    .next = corríjalo en la configuración
error-ident-long = "{ $name }" tiene más de { $max } bytes, y la base lo cortaría; acórtelo
    .next = corríjalo en la configuración
error-ident-nul = un nombre o un texto contiene un carácter NUL; quítelo
    .next = corríjalo en la configuración
